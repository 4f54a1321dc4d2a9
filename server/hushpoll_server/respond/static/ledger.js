// The ledger: what the surveys of this server that this device has answered add up to. An entry is a salted digest of the
// survey, its epsilon and the day; it has no room for an answer. The twin of delivery/ledger.py.

import { sha256 } from "../client/sha256.js";
import { locale, msg } from "./explain.js";

const LEDGER = "hushpoll:ledger";
const MOST = 1000; // entries; older ones go
const MUCH = 5; // of epsilon, in all

const isEntry = ([digest, cost, day]) =>
  /^[0-9a-f]{16}$/.test(digest) && (cost === null || cost >= 0) && /^\d{4}-\d\d-\d\d$/.test(day);

function readLedger() {
  try {
    const { salt, entries } = JSON.parse(localStorage.getItem(LEDGER));
    if (/^[0-9a-f]{32}$/.test(salt) && entries.every(isEntry)) return { salt, entries };
  } catch {
    // none yet, or damaged
  }
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return { salt: Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(""), entries: [] };
}

/** Note that a report has arrived; once, also where two tabs have delivered it. */
export function note({ hash, epsilonTotal }) {
  const { salt, entries } = readLedger();
  const digest = sha256(new TextEncoder().encode(salt + hash)).slice(0, 16);
  if (entries.some(([entry]) => entry === digest)) return;
  const cost = Number.isFinite(epsilonTotal) ? epsilonTotal : null;
  entries.push([digest, cost, new Date().toISOString().slice(0, 10)]);
  localStorage.setItem(LEDGER, JSON.stringify({ salt, entries: entries.slice(-MOST) }));
}

/** What this survey and the earlier ones add up to, and whether that is much; null if there was none. */
export function added({ epsilonTotal }) {
  const { entries } = readLedger();
  if (entries.length === 0) return null;
  const total = entries.reduce((sum, [, cost]) => sum + (cost ?? Infinity), epsilonTotal);
  const epsilon = Number.isFinite(total) ? roundUp(total) : msg("unbounded");
  return { text: msg("ledger", { n: entries.length.toLocaleString(locale), epsilon }), isMuch: total > MUCH };
}

// Round a bound up to hundredths, unless a double missed a round number by its last digit.
function roundUp(value) {
  const rounded = Math.max(Math.ceil(value * 100 - 1e-6), Number(value > 0)) / 100;
  return rounded.toLocaleString(locale, { maximumFractionDigits: 2 });
}
