"""The gateway runs on machines that have no model library."""

import subprocess
import sys

FORBIDDEN = (
    "torch",
    "numpy",
    "torchaudio",
    "torchvision",
    "transformers",
    "ctranslate2",
    "onnxruntime",
    "services.inference",
)


def test_the_gateway_imports_no_torch_and_no_numpy():
    """A process that has built the whole app holds none of the model services' libraries."""
    code = f"""
import sys
from services.gateway.serve import build_app
from services.gateway.settings import GatewaySettings
build_app(GatewaySettings())
print([name for name in {FORBIDDEN!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
