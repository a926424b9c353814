"""The benchmark's model behind LitServe's batching: ``POST /predict {"n": steps}`` on the port in the arguments."""

import sys

import litserve

from bench.rivals.model import MAX_BATCH, MAX_WAIT_S, PaddedMlp


class Model(litserve.LitAPI):
    """One model in one worker process."""

    def setup(self, device: str) -> None:
        """Load the model."""
        self._model = PaddedMlp()

    def decode_request(self, request: dict[str, int]) -> int:
        """Return the number of steps."""
        return request["n"]

    def batch(self, inputs: list[int]) -> list[int]:
        """Leave the requests as they are."""
        return list(inputs)

    def predict(self, batch: list[int]) -> list[float]:
        """Run a batch."""
        return self._model.run(batch)

    def unbatch(self, output: list[float]) -> list[float]:
        """Leave the results as they are."""
        return output

    def encode_response(self, output: float) -> dict[str, float]:
        """Return the answer's body."""
        return {"out": output}


if __name__ == "__main__":
    api = Model(max_batch_size=MAX_BATCH, batch_timeout=MAX_WAIT_S)
    server = litserve.LitServer(api, accelerator="cpu", workers_per_device=1, timeout=120)
    server.run(
        host="127.0.0.1", port=int(sys.argv[1]), num_api_servers=1, generate_client_file=False, log_level="warning"
    )
