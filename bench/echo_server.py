"""The plain servers that the gateway's way is compared with: ``fastapi`` or ``grpc`` and a port; each returns its body.

Started by hop.py, each in a process of its own. Nothing here is tuned: it is what their own first examples do.
"""

import asyncio
import sys

import grpc

METHOD = "/bench.Echo/Call"


def serve_fastapi(port: int) -> None:
    """Serve ``POST /predict`` until a signal."""
    import uvicorn
    from fastapi import FastAPI, Request, Response

    app = FastAPI()

    @app.post("/predict")
    async def echo(request: Request) -> Response:
        return Response(await request.body(), media_type="application/octet-stream")

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


async def serve_grpc(port: int) -> None:
    """Serve ``METHOD`` until a signal."""

    async def call(request: bytes, _context: object) -> bytes:
        return request

    service, _, name = METHOD[1:].partition("/")
    server = grpc.aio.server()
    handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {name: grpc.unary_unary_rpc_method_handler(call)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    if sys.argv[1] == "fastapi":
        serve_fastapi(int(sys.argv[2]))
    else:
        asyncio.run(serve_grpc(int(sys.argv[2])))
