"""Two trained verifiers of one origin made one, weight by weight.

Runs that begin at the same network end close enough for the mean of their weights to work, often
better than either (Wortsman et al. 2022, Model soups, §2), at the price of one network.
"""

import argparse
from pathlib import Path

from pincite.errors import ConfigError
from pincite_lab.training import network


def average(first: Path, second: Path, out: Path, share: float = 0.5) -> None:
    """Write (1 − share) · first + share · second as a Hugging Face folder.

    Raises:
        ConfigError: their weights have other names or shapes, or their vocabularies differ.
        MissingModel: a folder holds no trained verifier.
    """
    model, tokenizer = network.load_trained(str(first))
    other, vocabulary = network.load_trained(str(second))
    ours, theirs = model.state_dict(), other.state_dict()
    shapes = [{name: tuple(w.shape) for name, w in state.items()} for state in (ours, theirs)]
    if shapes[0] != shapes[1] or tokenizer.get_vocab() != vocabulary.get_vocab():
        raise ConfigError(
            f"{first} and {second} are not two runs of one network: their weights or vocabularies "
            "differ. Give two models that were trained from the same base."
        )
    mixed = {name: weight.lerp(theirs[name], share) for name, weight in ours.items()}
    model.load_state_dict(mixed)
    n_own = network.own_rows(first) + network.own_rows(second)
    network.write_model(model, tokenizer, out, network.own_card(n_own))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("out")
    parser.add_argument("--share", type=float, default=0.5)
    given = parser.parse_args()
    average(Path(given.first), Path(given.second), Path(given.out), given.share)
