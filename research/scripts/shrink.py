"""A smaller student from a trained verifier: every so many of its layers, the rest left out.

Half of the layers cost half of the time. The student begins where its teacher's layers stood
(Sanh et al. 2019, DistilBERT, §3: one layer out of two) and has to be trained with `--teacher`.
"""

import argparse
from pathlib import Path

from pincite.errors import ConfigError
from pincite_lab.training import network


def shrink(folder: Path, out: Path, n_layers: int) -> list[int]:
    """Write the student as a Hugging Face folder; the numbers of the layers that were kept.

    The kept layers are spread evenly and end with the last: 6 of 12 are 1, 3, 5, 7, 9 and 11.

    Raises:
        ConfigError: the model has not that many layers, or is no BERT.
        MissingModel: `folder` holds no trained verifier.
    """
    model, tokenizer = network.load_trained(str(folder))
    if model.config.model_type != "bert":
        raise ConfigError(f"{folder} holds a {model.config.model_type}; only BERT can be shrunk.")
    layers = model.base_model.encoder.layer
    if not 0 < n_layers <= len(layers):
        raise ConfigError(f"{folder} has {len(layers)} layers; {n_layers} cannot be kept.")
    kept = [(i + 1) * len(layers) // n_layers - 1 for i in range(n_layers)]
    model.base_model.encoder.layer = type(layers)(layers[i] for i in kept)
    model.config.num_hidden_layers = n_layers
    network.write_model(model, tokenizer, out, network.own_card(network.own_rows(folder)))
    return kept


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--layers", type=int, default=6)
    given = parser.parse_args()
    print(shrink(Path(given.model), Path(given.out), given.layers))
