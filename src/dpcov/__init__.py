"""Differentially private covariance from one release that can be used for ever.

>>> import dpcov
>>> dpcov.ZCDP(0.1).epsilon(delta=1e-6) < 2.15
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from dpcov._version import __version__

if TYPE_CHECKING:
    from dpcov.api import covariance, mean, pca, ridge
    from dpcov.custody.ledger import DataSet, Ledger
    from dpcov.custody.policy import Policy
    from dpcov.custody.publishing import Publication
    from dpcov.custody.signing import Signatures, Signer, new_signing_key, public_key, sign, verify_signatures
    from dpcov.custody.telling import LedgerHistory, LedgerStatus, Standing
    from dpcov.custody.verifying import Verification
    from dpcov.dry_run import rehearse
    from dpcov.errors import BudgetError, DpcovError, EngineError, ParameterError, ReleaseError, SchemaError, SpendsAgainWarning
    from dpcov.estimators import PrivateCovariance, PrivateMean, PrivatePCA, PrivateRidge
    from dpcov.evaluate import Comparison, compare
    from dpcov.evaluate.looking import Look, look
    from dpcov.evaluate.plan import Plan, plan, plan_pca
    from dpcov.evaluate.table_plan import Outlook, TablePlan, plan_table
    from dpcov.isolation.parent import isolated
    from dpcov.kernel.budget import ZCDP, ApproxDP, PureDP, compose
    from dpcov.mechanisms import MECHANISMS
    from dpcov.mechanisms.base import Mechanism
    from dpcov.rehearsal import Rehearsal
    from dpcov.release.file import load
    from dpcov.release.record import Release
    from dpcov.schema import Categorical, Ignored, Numeric, Product, Schema
    from dpcov.sources.csv_text import Csv
    from dpcov.sources.on_device import OnDevice
    from dpcov.sources.on_spark import OnSpark
    from dpcov.sources.sql.database import sql
    from dpcov.sources.sql.printed import SqlToRun, sql_text
    from dpcov.uses.between import Differences
    from dpcov.uses.coefficient_intervals import CoefficientIntervals
    from dpcov.uses.convergence import convergence
    from dpcov.uses.description import Correlation, Description
    from dpcov.uses.intervals import Interval, Intervals
    from dpcov.uses.model_reading import ModelReading
    from dpcov.uses.pca import PrincipalComponents
    from dpcov.uses.ridge import RidgeModel
    from dpcov.uses.scoring import Score
    from dpcov.uses.summary import Summary

_HOME = {
    "covariance": "api",
    "mean": "api",
    "pca": "api",
    "ridge": "api",
    "rehearse": "dry_run",
    "Rehearsal": "rehearsal",
    "plan": "evaluate.plan",
    "Plan": "evaluate.plan",
    "plan_pca": "evaluate.plan",
    "plan_table": "evaluate.table_plan",
    "TablePlan": "evaluate.table_plan",
    "Outlook": "evaluate.table_plan",
    "compare": "evaluate",
    "Comparison": "evaluate",
    "look": "evaluate.looking",
    "Look": "evaluate.looking",
    "isolated": "isolation.parent",
    "load": "release.file",
    "MECHANISMS": "mechanisms",
    "Mechanism": "mechanisms.base",
    "PrivateCovariance": "estimators",
    "PrivateMean": "estimators",
    "PrivatePCA": "estimators",
    "PrivateRidge": "estimators",
    "PrincipalComponents": "uses.pca",
    "RidgeModel": "uses.ridge",
    "ModelReading": "uses.model_reading",
    "Score": "uses.scoring",
    "Description": "uses.description",
    "Correlation": "uses.description",
    "Interval": "uses.intervals",
    "Intervals": "uses.intervals",
    "Differences": "uses.between",
    "CoefficientIntervals": "uses.coefficient_intervals",
    "Summary": "uses.summary",
    "convergence": "uses.convergence",
    "Release": "release.record",
    "Schema": "schema",
    "Numeric": "schema",
    "Categorical": "schema",
    "Product": "schema",
    "Ignored": "schema",
    "Ledger": "custody.ledger",
    "DataSet": "custody.ledger",
    "Policy": "custody.policy",
    "LedgerStatus": "custody.telling",
    "Standing": "custody.telling",
    "LedgerHistory": "custody.telling",
    "Verification": "custody.verifying",
    "Publication": "custody.publishing",
    "sign": "custody.signing",
    "verify_signatures": "custody.signing",
    "new_signing_key": "custody.signing",
    "public_key": "custody.signing",
    "Signatures": "custody.signing",
    "Signer": "custody.signing",
    "Csv": "sources.csv_text",
    "OnDevice": "sources.on_device",
    "OnSpark": "sources.on_spark",
    "sql": "sources.sql.database",
    "sql_text": "sources.sql.printed",
    "SqlToRun": "sources.sql.printed",
    "PureDP": "kernel.budget",
    "ZCDP": "kernel.budget",
    "ApproxDP": "kernel.budget",
    "compose": "kernel.budget",
    "DpcovError": "errors",
    "ParameterError": "errors",
    "BudgetError": "errors",
    "SchemaError": "errors",
    "ReleaseError": "errors",
    "EngineError": "errors",
    "SpendsAgainWarning": "errors",
}

__all__ = [  # noqa: RUF022 - in the order people meet them
    "covariance",
    "mean",
    "pca",
    "ridge",
    "isolated",
    "Publication",
    "load",
    "Release",
    "rehearse",
    "Rehearsal",
    "plan",
    "Plan",
    "plan_pca",
    "plan_table",
    "TablePlan",
    "Outlook",
    "compare",
    "Comparison",
    "look",
    "Look",
    "Schema",
    "Numeric",
    "Categorical",
    "Product",
    "Ignored",
    "Ledger",
    "DataSet",
    "Policy",
    "LedgerStatus",
    "Standing",
    "LedgerHistory",
    "Verification",
    "sign",
    "verify_signatures",
    "Signatures",
    "Signer",
    "new_signing_key",
    "public_key",
    "Csv",
    "OnDevice",
    "OnSpark",
    "sql",
    "sql_text",
    "SqlToRun",
    "PureDP",
    "ZCDP",
    "ApproxDP",
    "compose",
    "MECHANISMS",
    "Mechanism",
    "PrivateCovariance",
    "PrivateMean",
    "PrivatePCA",
    "PrivateRidge",
    "PrincipalComponents",
    "RidgeModel",
    "ModelReading",
    "Score",
    "Description",
    "Correlation",
    "Interval",
    "Intervals",
    "Differences",
    "CoefficientIntervals",
    "Summary",
    "convergence",
    "DpcovError",
    "ParameterError",
    "BudgetError",
    "SchemaError",
    "ReleaseError",
    "EngineError",
    "SpendsAgainWarning",
    "__version__",
]


_MODULES = {
    "audit": "verify.audit",
    "bounds": "bounds",
    "metrics": "evaluate.metrics",
    "replay": "verify.replay",
    "testing": "verify.testing",
}
"""Public modules, imported when they are first used."""


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that ``import dpcov`` stays quick."""
    if name in _MODULES:
        return importlib.import_module(f"dpcov.{_MODULES[name]}")
    if name not in _HOME:
        raise AttributeError(f"module 'dpcov' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"dpcov.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
