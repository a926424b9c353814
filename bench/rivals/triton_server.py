"""The benchmark's model behind Triton's batching: its HTTP protocol on the port in the arguments, tensors N and OUT."""

import signal
import sys
from typing import Any

import numpy as np
from pytriton.decorators import batch
from pytriton.model_config import DynamicBatcher, ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig

from bench.rivals.model import MAX_BATCH, MAX_WAIT_S, PaddedMlp


def main() -> None:
    """Serve until SIGTERM."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    port = int(sys.argv[1])
    model = PaddedMlp()

    @batch
    def infer(N: Any) -> dict[str, Any]:  # noqa: N803  # the tensor's name
        values = model.run([int(steps) for steps in N[:, 0]])
        return {"OUT": np.asarray(values, dtype=np.float32)[:, None]}

    config = TritonConfig(
        http_address="127.0.0.1", http_port=port, grpc_address="127.0.0.1", grpc_port=port + 1, metrics_port=port + 2
    )
    batching = ModelConfig(
        max_batch_size=MAX_BATCH, batcher=DynamicBatcher(max_queue_delay_microseconds=round(MAX_WAIT_S * 1e6))
    )
    with Triton(config=config) as triton:
        inputs = [Tensor(name="N", dtype=np.int32, shape=(1,))]
        outputs = [Tensor(name="OUT", dtype=np.float32, shape=(1,))]
        triton.bind("model", infer, inputs=inputs, outputs=outputs, config=batching)
        triton.serve()


if __name__ == "__main__":
    main()
