// Which wave of which series a survey is, for the analysis alone. The twin of survey/series.py.

import { SurveyError } from "./channel.js";
import { readFields, readText } from "./kind.js";
import { EXTRAS } from "./survey.js";

function check({ series }) {
  if (series === undefined) return {};
  const at = ["series"];
  const { name, wave, previous } = readFields(series, at, ["name", "previous", "wave"]);
  readText(name, [...at, "name"], "title");
  if (!Number.isInteger(wave) || wave < 2 || wave > 1000) throw new SurveyError([...at, "wave"], "must be 2 to 1000");
  const named = typeof previous === "string" && /^[0-9a-f]{64}$/.test(previous);
  if (!named) throw new SurveyError([...at, "previous"], "is not a hash");
  return {};
}

EXTRAS.series = { check };
