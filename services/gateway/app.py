"""The gateway's composition root: settings in, a FastAPI app out."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.instrumentation.redis import RedisInstrumentor

from services.gateway.clients import open_upstreams
from services.gateway.edge import Edge
from services.gateway.late import open_late_events
from services.gateway.loop_watch import watched_loop
from services.gateway.problems import install_problems
from services.gateway.routes import alignments, health, models, realtime, stream, transcriptions
from services.gateway.settings import GatewaySettings
from services.gateway.state import GatewayState
from services.gateway.store import open_store

ABOUT = "Hears and sees at once: live captions, and for each phrase the image and region it is about."


def build_app(settings: GatewaySettings) -> FastAPI:
    """Return the app; upstreams and Redis are opened when it starts and closed when it ends."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
        async with AsyncExitStack() as stack:
            upstreams = await stack.enter_async_context(open_upstreams(settings))
            store = await stack.enter_async_context(open_store(settings))
            await stack.enter_async_context(watched_loop())
            late = await stack.enter_async_context(open_late_events(settings.session_ttl_s))
            app.state.gateway = GatewayState(settings, upstreams, store, late)
            yield

    app = FastAPI(title="Attune", version="0.1.0", description=ABOUT, lifespan=lifespan)
    app.state.settings = settings
    for routes in (alignments, transcriptions, models, stream, realtime, health):
        app.include_router(routes.router)
    install_problems(app)
    app.add_middleware(CORSMiddleware, allow_origins=settings.cors_origins, allow_methods=["*"], allow_headers=["*"])
    app.add_middleware(Edge, settings=settings)
    # One span per WebSocket message would be a flood.
    FastAPIInstrumentor.instrument_app(app, exclude_spans=["receive", "send"], excluded_urls="livez,readyz,metrics")
    RedisInstrumentor().instrument()
    return app
