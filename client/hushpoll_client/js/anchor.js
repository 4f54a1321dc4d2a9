// An anchor: an answer whose true share is known, for the analysis alone. The twin of survey/anchor.py.

import { HushpollError, SurveyError } from "./channel.js";
import { readFields } from "./kind.js";
import { readShare } from "./mechanism.js";
import { EXTRAS } from "./survey.js";

// The answer is Yes where none is named.
function check({ anchor }, questions) {
  if (anchor === undefined) return {};
  const at = ["anchor"];
  const { question, share, answer } = readFields(anchor, at, ["question", "share"], ["answer"]);
  const { kind, after, channel, options } = questions.find(({ id }) => id === question) ?? {};
  const fits = kind?.inBlocks && !after && channel.listed;
  if (!fits || !(kind.yesOrNo || answer)) throw new SurveyError([...at, "question"], "is not for all");
  const sound = kind.yesOrNo ? answer === undefined : options.includes(answer);
  if (!sound) throw new SurveyError([...at, "answer"], "is not an answer to name");
  const [top, bottom] = readAnchorShare(share, [...at, "share"]);
  if (BigInt(options.length) * top === bottom) throw new SurveyError([...at, "share"], "tells nothing");
  return {};
}

function readAnchorShare(share, at) {
  try {
    return readShare(share, "share");
  } catch (error) {
    if (!(error instanceof HushpollError)) throw error;
    throw new SurveyError(at, error.problem);
  }
}

EXTRAS.anchor = { check };
