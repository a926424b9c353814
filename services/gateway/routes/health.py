"""``/livez``, ``/readyz``, ``/metrics`` and the page at ``/``."""

from importlib.resources import files

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from services.gateway.state import gateway

router = APIRouter(tags=["server"])

PAGE = files("services.gateway.web").joinpath("index.html").read_text(encoding="utf-8")


@router.get("/livez", summary="Is the process alive?")
async def livez() -> dict[str, str]:
    """Answer at once; asks nobody."""
    return {"status": "alive"}


@router.get("/readyz", summary="Can work be done?")
async def readyz(request: Request) -> JSONResponse:
    """Ask every upstream; 503 while one is missing or the gateway drains. Redis may be away: captions go on without."""
    state = gateway(request)
    upstreams = await state.upstreams.health()
    ready = all(upstreams.values()) and not state.draining.is_set()
    body = {
        "status": "ready" if ready else "not ready",
        "upstreams": upstreams,
        "redis": await state.store.is_there() if state.store else None,
        "draining": state.draining.is_set(),
    }
    return JSONResponse(body, 200 if ready else 503)


@router.get("/metrics", summary="Prometheus metrics", include_in_schema=False)
async def metrics() -> Response:
    """Return this process's metrics."""
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


@router.get("/", response_class=HTMLResponse, include_in_schema=False)
async def page() -> str:
    """Return the page."""
    return PAGE
