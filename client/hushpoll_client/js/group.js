// Groups by link: a report names its group openly. The twin of survey/group.py.

import { SurveyError } from "./channel.js";
import { readText } from "./kind.js";
import { EXTRAS } from "./survey.js";

export const MAX_GROUPS = 100;

// No two names sound alike when read aloud; small groups are put together under the name "other".
function check({ groups }, questions) {
  if (groups === undefined) return {};
  const at = ["groups"];
  if (!Array.isArray(groups) || groups.length < 2 || groups.length > MAX_GROUPS) {
    throw new SurveyError(at, `must be a list of 2 to ${MAX_GROUPS} names`);
  }
  const names = new Set(["other"]);
  groups.forEach((name, index) => readText(name, [...at, index], "option"));
  groups.forEach((name, index) => {
    const spoken = name.normalize("NFC").toLowerCase().replace(/[\s\ufeff]+/g, "");
    if (names.has(spoken)) throw new SurveyError([...at, index], "appears twice, or is clash");
    names.add(spoken);
  });
  const clash = questions.findIndex(({ id }) => id === "group");
  if (clash >= 0) throw new SurveyError(["questions", clash, "id"], "is what the groups are called");
  return { groups, groupOf };
}

// What a link says after the hash: "g<group>", perhaps with ".<invitation>" behind, and the group for a query.
function groupOf(tail) {
  const [, group, code = null] = /^g(0|[1-9]\d?)(?:\.(.+)?)?$/.exec(tail) ?? [];
  return { group: group && Number(group), code, query: `?group=${group ?? ""}` };
}

EXTRAS.group = { check };
