"""What every process's settings share: frozen, bounded, read once from the environment, unknown keys refused."""

import os
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


class ProcessSettings(BaseSettings):
    """Base of the settings models; subclasses set ``env_prefix``."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid")

    log_level: str = Field("INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$", description="Least severe log record shown.")
    trace_dir: Path = Field(
        Path(".attune/traces"), description="Where spans are written as JSON lines when no OTLP endpoint is set."
    )
    trace_bytes: int = Field(
        200 * 2**20, ge=2**20, description="Most that all processes' spans may take there; the oldest files go first."
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_variables(cls, values: Any) -> Any:
        # pydantic-settings ignores variables it does not know: a misspelt one would silently change nothing.
        prefix = cls.model_config.get("env_prefix", "").upper()
        known = {prefix + name.upper() for name in cls.model_fields}
        known |= {str(field.validation_alias).upper() for field in cls.model_fields.values() if field.validation_alias}
        unknown = sorted(
            key for key in os.environ if prefix and key.upper().startswith(prefix) and key.upper() not in known
        )
        if unknown:
            raise ValueError(f"unknown settings {', '.join(unknown)}; known: {', '.join(sorted(known))}")
        return values

    @classmethod
    def read(cls, **given: Any) -> Self:
        """Return the settings; a value that is given and not None wins over the environment."""
        return cls(**{key: value for key, value in given.items() if value is not None})
