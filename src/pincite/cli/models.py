"""`pincite models`: where each model was found, and fetching others from the hub."""

import click

from pincite.cli import options


@click.group("models", short_help="where the models are, and fetching others")
def command() -> None:
    """Models are looked for in the package, as a folder, and in the user's cache."""


@command.command("list")
def list_models() -> None:
    """The models in force, their folders and fingerprints."""
    from pincite.models import weights

    models = options.settings_of({}).models
    for role, name in weights.in_use(models.encoder, models.encoders, models.verifier):
        place = "" if weights.served(name) else f"  {weights.locate(name)}"
        click.echo(f"{role:9} {weights.described(name)}{place}")


@command.command("fetch")
@click.argument("model")
def fetch(model: str) -> None:
    """Download MODEL (a Hugging Face id, ORGANISATION/NAME) into the cache. Uses the network."""
    from pincite.models import weights

    click.echo(weights.fetch(model))
