// What surrounds the questions, and in which languages: the twin of survey/presentation.py and survey/translations.py.

import { SurveyError } from "./channel.js";
import { readFields, readText } from "./kind.js";
import { EXTRAS } from "./survey.js";

const MAX_HELP = 20;
const MAX_LANGUAGES = 12;
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
  const presentation = {};
  for (const [key, read] of Object.entries(READERS)) {
    if (fields[key] !== undefined) presentation[key] = read(fields[key], [key], questions);
  }
  const surroundings = Object.keys(presentation).length ? { presentation } : {};
  if (fields.language !== undefined) surroundings.language = readTag(fields.language, ["language"]);
  if (fields.translations !== undefined) surroundings.translations = readTranslations(fields.translations, fields);
  return surroundings;
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
  list(value, at, MAX_HELP).forEach((entry, index) => {
    const { label, url } = readFields(entry, [...at, index], ["label", "url"]);
    readText(label, [...at, index, "label"], "option");
    readUrl(url, [...at, index, "url"]);
  });
  return value;
}

function readAskedBy(value, at) {
  const optionalKeys = ["contact", "approval", "notice"];
  const fields = readFields(value, at, ["name"], optionalKeys);
  readText(fields.name, [...at, "name"], "title");
  for (const key of optionalKeys) if (fields[key] !== undefined) readLine(fields[key], [...at, key]);
  if (/^(https?|javascript|data):/i.test(fields.notice)) readUrl(fields.notice, [...at, "notice"]);
  return value;
}

function readSections(value, at, questions) {
  let last = -1;
  list(value, at, Infinity).forEach((section, index) => {
    const here = [...at, index];
    const { before, title, text } = readFields(section, here, ["before", "title"], ["text"]);
    const position = questions.findIndex(({ id }) => id === before);
    if (position < 0 || position <= last) throw new SurveyError([...here, "before"], "is not a question, or out of order");
    last = position;
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
export function contrast(first, second) {
  const [dark, light] = [luminance(first), luminance(second)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour) {
  const linear = [1, 3, 5].map((index) => {
    const share = parseInt(colour.slice(index, index + 2), 16) / 255;
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
  if (tags.length > MAX_LANGUAGES - 1) throw new SurveyError(at, "has too many languages");
  for (const tag of tags) {
    const isOwn = readTag(tag, [...at, tag]) === document.language;
    if (isOwn) throw new SurveyError([...at, tag], "is the language of the survey itself");
    readTexts(value[tag], [...at, tag], translatable(document));
  }
  return value;
}

// The texts that every translation must have, in the shape of a translation.
function translatable(document) {
  const original = { title: document.title };
  for (const key of ["intro", "consent", "thanks", "help"]) if (document[key]) original[key] = document[key];
  if (document.sections) original.sections = document.sections.map(({ before, ...texts }) => texts);
  original.questions = Object.fromEntries(document.questions.map((question) => [question.id, translatableTexts(question)]));
  return original;
}

function translatableTexts({ text, options, labels, unit, mechanism }) {
  const texts = { text, options, labels, unit, decoy: mechanism?.decoy };
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text));
}

function readTexts(value, at, original) {
  const fields = readFields(value, at, Object.keys(original));
  readText(fields.title, [...at, "title"], "title");
  for (const [key, read] of Object.entries({ intro: readLines, thanks: readLines, help: readHelp, consent: readLine })) {
    if (fields[key] !== undefined) read(fields[key], [...at, key]);
  }
  if (original.sections) readSectionTexts(fields.sections, [...at, "sections"], original.sections);
  const questions = readFields(fields.questions, [...at, "questions"], Object.keys(original.questions));
  for (const [id, source] of Object.entries(original.questions)) {
    readQuestionTexts(questions[id], [...at, "questions", id], source);
  };
}

function readSectionTexts(value, at, original) {
  if (!Array.isArray(value) || value.length !== original.length) throw new SurveyError(at, "must be as many as the survey has");
  value.forEach((section, index) => {
    const { title, text } = readFields(section, [...at, index], Object.keys(original[index]));
    readText(title, [...at, index, "title"], "title");
    if (original[index].text) readLines(text, [...at, index, "text"]);
  });
}

function readQuestionTexts(value, at, original) {
  const fields = readFields(value, at, Object.keys(original));
  for (const [key, source] of Object.entries(original)) {
    const here = [...at, key];
    const texts = fields[key];
    const alike = Array.isArray(texts) && texts.length === source.length;
    if (!Array.isArray(source)) readText(texts, here, key);
    else if (!alike) throw new SurveyError(here, "must be as many texts as the question has");
    else {
      texts.forEach((text, index) => readText(text, [...here, index], "option"));
      const twice = texts.findIndex((text, index) => texts.indexOf(text) < index);
      if (twice >= 0) throw new SurveyError([...here, twice], "appears twice");
    }
  }
}

EXTRAS.presentation = { check };
