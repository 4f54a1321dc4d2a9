"""Reports as Parquet; the file carries the survey's hash and how few reports were released together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .base import ReportFormat, ReportRelease
from .csv_reports import ROWS

if TYPE_CHECKING:
    import pandas as pd
    from hushpoll_client import Survey


def _write(survey: Survey, frame: pd.DataFrame, path: Path, release: ReportRelease) -> None:
    from hushpoll_analysis.sample.arrow import arrow
    from hushpoll_analysis.sample.files import HASH_KEY
    from hushpoll_analysis.sample.released import metadata_of
    from hushpoll_analysis.sample.tally import report_columns

    pyarrow = arrow(path.name)
    table = pyarrow.Table.from_pandas(report_columns(survey, frame), preserve_index=False)
    table = table.replace_schema_metadata({HASH_KEY: survey.hash.encode(), **metadata_of(release.batch)})
    with pyarrow.parquet.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for batch in table.to_batches(max_chunksize=ROWS):
            writer.write_batch(batch)
            if release.progress is not None:
                release.progress(batch.num_rows)


def _is_available() -> bool:
    from hushpoll_analysis.sample.arrow import has_arrow

    return has_arrow()


PARQUET = ReportFormat(name="parquet", ending="parquet", write=_write, is_available=_is_available)
