"""Options that every way to measure has."""

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress.")
keep_option = click.option(
    "--keep", is_flag=True, help="Keep judged pairs: a stopped run goes on, pairs/s says nothing."
)
