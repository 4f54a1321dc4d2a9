// What stands around the questions, and in which languages: the twin of about.py and translations.py. Loaded only for a
// survey that has any of it.

import { SurveyError } from "./errors.js";
import { readFields, readText } from "./kind.js";
import { EXTRAS } from "./survey.js";

const MOST_HELP = 20;
const MOST_LANGUAGES = 12;
const PAPER = "#f6f4ee";
const URLS = [
  /^https:\/\/[A-Za-z0-9.-]+(:[0-9]{1,5})?([/?#][!-~]*)?$/,
  /^tel:\+?[0-9().-]{2,40}$/,
  /^mailto:[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.-]+$/,
];
const TAG = /^[a-z]{2,3}(-[A-Z][a-z]{3})?(-[A-Z]{2})?$/;

const READERS = {
  asked_by: readAskedBy,
  consent: readLine,
  thanks: readLines,
  help: readHelp,
  sections: readSections,
  look: readLook,
};

function check(fields, questions) {
  const about = {};
  for (const [key, read] of Object.entries(READERS)) {
    if (fields[key] !== undefined) about[key] = read(fields[key], [key], questions);
  }
  if (fields.language !== undefined) about.language = readTag(fields.language, ["language"]);
  if (fields.translations !== undefined) about.translations = readTranslations(fields.translations, fields);
  return Object.keys(about).length ? { about } : {};
}

const list = (value, at, most) => {
  if (!Array.isArray(value) || value.length > most) throw new SurveyError(at, "must be a list");
  return value;
};

function readLine(value, at) {
  return readText(value, at, "text");
}

function readLines(value, at) {
  if (!readText(value, at, "intro").trim()) throw new SurveyError(at, "is empty");
  return value;
}

/** An address that people can open without harm. */
export function readUrl(value, at) {
  if (typeof value !== "string" || value.length > 1000 || !URLS.some((shape) => shape.test(value))) {
    throw new SurveyError(at, "is not an address that can be opened here");
  }
  return value;
}

function readHelp(value, at) {
  list(value, at, MOST_HELP).forEach((one, place) => {
    const { label, url } = readFields(one, [...at, place], ["label", "url"]);
    readText(label, [...at, place, "label"], "option");
    readUrl(url, [...at, place, "url"]);
  });
  return value;
}

function readAskedBy(value, at) {
  const later = ["contact", "approval", "notice"];
  const fields = readFields(value, at, ["name"], later);
  readText(fields.name, [...at, "name"], "title");
  for (const key of later) if (fields[key] !== undefined) readLine(fields[key], [...at, key]);
  if (/^(https?|javascript|data):/i.test(fields.notice)) readUrl(fields.notice, [...at, "notice"]);
  return value;
}

function readSections(value, at, questions) {
  let last = -1;
  list(value, at, Infinity).forEach((one, place) => {
    const here = [...at, place];
    const { before, title, text } = readFields(one, here, ["before", "title"], ["text"]);
    const found = questions.findIndex(({ id }) => id === before);
    if (found < 0 || found <= last) throw new SurveyError([...here, "before"], "is not a question, or out of order");
    last = found;
    readText(title, [...here, "title"], "title");
    if (text !== undefined) readLines(text, [...here, "text"]);
  });
  return value;
}

function readLook(value, at) {
  const look = readFields(value, at, [], ["accent", "logo", "layout", "quick_exit"]);
  const refuse = (key, problem) => {
    throw new SurveyError([...at, key], problem);
  };
  if (look.accent !== undefined) {
    if (!/^#[0-9a-f]{6}$/.test(look.accent)) refuse("accent", "is not a colour");
    if (contrast(look.accent, PAPER) < 4.5) refuse("accent", "has too little contrast to the page");
  }
  const named = typeof look.logo === "string" && /^[0-9a-f]{64}$/.test(look.logo);
  if (look.logo !== undefined && !named) refuse("logo", "is not a SHA-256");
  if (look.layout !== undefined && !["page", "steps"].includes(look.layout)) refuse("layout", "is not known");
  if (look.quick_exit !== undefined && look.quick_exit !== true) refuse("quick_exit", "must be true");
  return value;
}

/** By WCAG 2.2: (lighter + .05) / (darker + .05) of the luminances. */
export function contrast(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour) {
  const linear = [1, 3, 5].map((place) => {
    const share = parseInt(colour.slice(place, place + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

// Languages

function readTag(value, at) {
  if (typeof value !== "string" || !TAG.test(value)) throw new SurveyError(at, "is not a language");
  return value;
}

function readTranslations(value, document) {
  const at = ["translations"];
  if (document.language === undefined) throw new SurveyError(["language"], "is missing");
  const tags = Object.keys(readFields(value, at, Object.keys(value ?? {})));
  if (tags.length > MOST_LANGUAGES - 1) throw new SurveyError(at, "has too many languages");
  for (const tag of tags) {
    const own = readTag(tag, [...at, tag]) === document.language;
    if (own) throw new SurveyError([...at, tag], "is the language of the survey itself");
    readTexts(value[tag], [...at, tag], wanted(document));
  }
  return value;
}

// The texts that every translation must have, in the shape of a translation.
function wanted(document) {
  const like = { title: document.title };
  for (const key of ["intro", "consent", "thanks", "help"]) if (document[key]) like[key] = document[key];
  if (document.sections) like.sections = document.sections.map(({ before, ...texts }) => texts);
  like.questions = Object.fromEntries(document.questions.map((one) => [one.id, wantedOf(one)]));
  return like;
}

function wantedOf({ text, options, labels, unit, mechanism }) {
  const texts = { text, options, labels, unit, decoy: mechanism?.decoy };
  return Object.fromEntries(Object.entries(texts).filter(([, own]) => own));
}

function readTexts(value, at, like) {
  const fields = readFields(value, at, Object.keys(like));
  readText(fields.title, [...at, "title"], "title");
  for (const [key, read] of Object.entries({ intro: readLines, thanks: readLines, help: readHelp, consent: readLine })) {
    if (fields[key] !== undefined) read(fields[key], [...at, key]);
  }
  if (like.sections) readParts(fields.sections, [...at, "sections"], like.sections);
  const asked = readFields(fields.questions, [...at, "questions"], Object.keys(like.questions));
  for (const [id, own] of Object.entries(like.questions)) readAsked(asked[id], [...at, "questions", id], own);
}

function readParts(value, at, like) {
  if (!Array.isArray(value) || value.length !== like.length) throw new SurveyError(at, "must be as many as the survey has");
  value.forEach((one, place) => {
    const { title, text } = readFields(one, [...at, place], Object.keys(like[place]));
    readText(title, [...at, place, "title"], "title");
    if (like[place].text) readLines(text, [...at, place, "text"]);
  });
}

function readAsked(value, at, like) {
  const fields = readFields(value, at, Object.keys(like));
  for (const [key, own] of Object.entries(like)) {
    const here = [...at, key];
    const given = fields[key];
    const alike = Array.isArray(given) && given.length === own.length;
    if (!Array.isArray(own)) readText(given, here, key);
    else if (!alike) throw new SurveyError(here, "must be as many texts as the question has");
    else {
      given.forEach((text, place) => readText(text, [...here, place], "option"));
      const twice = given.findIndex((text, place) => given.indexOf(text) < place);
      if (twice >= 0) throw new SurveyError([...here, twice], "appears twice");
    }
  }
}

EXTRAS.about = { check };
