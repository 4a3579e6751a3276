"use strict";
const SHOWN = 500; // rows of an answer
const EVERY = 2000; // ms between two looks at the statistics
const $ = id => document.getElementById(id);
let token = sessionStorage.getItem("token") || "";
let program = null, before = null, running = null;

function element(name, text, className) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

function fetchFrom(path, options = {}) {
  const headers = {Accept: "application/json", ...options.headers};
  if (token) headers.Authorization = "Bearer " + token;
  return fetch(path, {...options, headers, cache: "no-store"});
}

function spell(n) { return Number(n).toLocaleString("en"); }

function spellTime(ns) {
  return ns < 1e3 ? ns + " ns" : ns < 1e6 ? (ns / 1e3).toPrecision(3) + " us"
       : ns < 1e9 ? (ns / 1e6).toPrecision(3) + " ms" : (ns / 1e9).toFixed(2) + " s";
}

function spellBytes(n) {
  for (const unit of ["B", "KB", "MB"]) {
    if (n < 1000) return (unit === "B" ? n : n.toPrecision(3)) + " " + unit;
    n /= 1000;
  }
  return n.toPrecision(3) + " GB";
}

// columns: [name, is it a number]; rows: arrays of what is shown.
function fillTable(table, columns, rows, nothing) {
  table.textContent = "";
  if (rows.length === 0) { table.append(element("caption", nothing)); return; }
  const head = table.createTHead().insertRow();
  for (const [name, number] of columns) {
    const th = element("th", name, number ? "number" : "");
    th.scope = "col";
    head.append(th);
  }
  const body = table.createTBody();
  for (const row of rows) {
    const tr = body.insertRow();
    row.forEach((value, i) => tr.append(element("td", value, columns[i][1] ? "number" : "text")));
  }
}

// JSON's numbers are not exact from 2^53 on; ints of 64 bits stay as they were sent.
function parseExactly(text) {
  return JSON.parse(text.replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g,
    m => m[0] === '"' ? m : '"' + m + '"'));
}

/* Calls */

function current() { return program.functions[$("function").selectedIndex]; }

function showParameters() {
  const box = $("parameters");
  box.textContent = "";
  for (const p of current().parameters) {
    const label = element("label", p.name + ": " + p.type);
    const input = document.createElement("input");
    input.id = label.htmlFor = "argument-" + p.name;
    input.name = p.name;
    input.autocomplete = "off";
    if (p.type === "bool") {
      input.type = "checkbox";
    } else {
      input.placeholder = {int: "0", real: "0.5", date: "1998-09-02"}[p.type] || " ";
      input.required = p.type !== "text";
      input.pattern = {int: "-?[0-9]+", date: "[0-9]{4}-[0-9]{2}-[0-9]{2}"}[p.type] || ".*";
      if (p.type === "int") input.inputMode = "numeric";
    }
    box.append(label, input);
  }
}

// The body is put together by hand: an int may be larger than a number of JavaScript holds.
function bodyOf(form) {
  const parts = current().parameters.map(p => {
    const input = form.elements[p.name];
    const value = p.type === "bool" ? String(input.checked)
                : p.type === "int" ? (BigInt(input.value)).toString() : JSON.stringify(input.value);
    return JSON.stringify(p.name) + ": " + value;
  });
  return "{" + parts.join(", ") + "}";
}

function showAnswer(response, text) {
  const box = $("answer"), outcome = $("outcome"), work = response.headers.get("Pure-Work");
  const rows = response.headers.get("Pure-Rows"), f = current();
  box.textContent = "";
  const value = parseExactly(text);
  outcome.className = response.ok ? "" : "bad";
  if (!response.ok) {
    const e = value.error;
    outcome.textContent = response.status + " " + e.code + (e.fault ? ", " + e.fault : "") + ": " + e.message +
      (e.line ? " (line " + e.line + ")" : "") + (work ? "; work " + spell(work) : "");
    return;
  }
  const cost = "work " + spell(work) + ", " + spellTime(Number(response.headers.get("Pure-Time")));
  if (f.result !== "rows") {
    outcome.textContent = (f.result === "nothing" ? "done" : "answer: " + String(value)) + "; " + cost;
    return;
  }
  outcome.textContent = spell(rows) + (Number(rows) === SHOWN ? " rows or more; " : rows === "1" ? " row; " : " rows; ") + cost;
  const table = document.createElement("table");
  fillTable(table, f.columns.map(c => [c.name, c.type === "int" || c.type === "real"]),
    value.map(row => f.columns.map(c => String(row[c.name]))), "no rows");
  box.append(table);
}

async function runCall(event) {
  event.preventDefault();
  if (running) return;
  running = new AbortController();
  $("cancel").hidden = false;
  $("outcome").className = "";
  $("outcome").textContent = "running";
  try {
    const response = await fetchFrom("/call/" + encodeURIComponent(current().name) + "?rows=" + SHOWN,
      {method: "POST", body: bodyOf(event.target), headers: {"Content-Type": "application/json"}, signal: running.signal});
    showAnswer(response, await response.text());
  } catch (e) {
    $("outcome").className = "bad";
    $("outcome").textContent = running.signal.aborted ? "stopped" : String(e.message);
  }
  running = null;
  $("cancel").hidden = true;
  look();
}

/* What is going on */

function showRates(now) {
  const seconds = before ? (now.uptime_ns - before.uptime_ns) / 1e9 : 0;
  const rate = name => seconds > 0 ? spell(Math.round((now.counts[name] - before.counts[name]) / seconds)) : "–";
  const busy = seconds > 0 ? Math.round((now.counts.event_ns - before.counts.event_ns) / seconds / 1e7) + " %" : "–";
  const values = [["events / s", rate("events")], ["queries / s", rate("queries")], ["rows / s", rate("rows")],
    ["requests / s", rate("requests")], ["owner busy", busy], ["connections", now.counts.connections],
    ["queries running", now.counts.running_queries], ["memory", spellBytes(now.memory.live_bytes)],
    ["compiled code", spellBytes(now.jit.code_bytes)], ["up", spellTime(now.uptime_ns)]];
  if (now.store)
    values.push(["in the log", spell(now.store.position)], ["on the disk", spell(now.store.durable)],
      ["checkpoint at", spell(now.store.checkpoint)]);
  const list = $("rates");
  list.textContent = "";
  for (const [name, value] of values) {
    const pair = document.createElement("div");
    pair.append(element("dt", name), element("dd", String(value)));
    list.append(pair);
  }
}

function showTables(now) {
  fillTable($("lists"), [["list", false], ["rows", true], ["layout", false], ["bytes a column", false], ["held", true]],
    now.lists.map(l => [l.name, spell(l.rows), l.layout, l.widths, spellBytes(l.bytes)]), "the program has no lists");
  fillTable($("functions"), [["name", false], ["calls", true], ["faults", true], ["mean time", true], ["mean work", true]],
    now.functions.filter(f => f.calls).map(f => [f.name, spell(f.calls), spell(f.faults), spellTime(Math.round(f.ns / f.calls)),
      spell(Math.round(f.work / f.calls))]), "nothing was called yet");
  fillTable($("loops"), [["where", false], ["tier", false], ["deopts", true], ["code", true], ["why not more", false]],
    now.loops.map(l => [l.function + (l.whole ? "" : ", line " + l.line), l.tier, spell(l.deopts), spellBytes(l.code_bytes), l.reason]),
    "no loop has run yet");
}

function health(text, good) {
  $("health").textContent = text;
  $("health").className = good ? "good" : "bad";
}

async function look() {
  try {
    const response = await fetchFrom("/stats");
    if (response.status === 401) { askToken(); return; }
    if (!response.ok) throw new Error("status " + response.status);
    const now = await response.json();
    health("running, version " + now.version, true);
    showRates(now);
    showTables(now);
    before = now;
  } catch (e) {
    health("no answer: " + e.message, false);
  }
}

function askToken() {
  health("a token is needed", false);
  if (!$("access").hidden) return;
  $("access").hidden = false;
  $("token").focus();
}

async function start() {
  try {
    const response = await fetchFrom("/program");
    if (response.status === 401) { askToken(); return; }
    program = await response.json();
  } catch (e) {
    health("no answer: " + e.message, false);
    return;
  }
  $("access").hidden = true;
  $("program").textContent = program.program.replace(/^.*\//, "");
  document.title = $("program").textContent + " – Pure";
  const select = $("function");
  select.textContent = "";
  for (const kind of ["query", "event"]) {
    const group = document.createElement("optgroup");
    group.label = kind === "query" ? "Queries" : "Events";
    program.functions.filter(f => f.kind === kind).forEach(f => group.append(element("option",
      f.name + "(" + f.parameters.map(p => p.name).join(", ") + ")")));
    if (group.children.length) select.append(group);
  }
  program.functions.sort((a, b) => (a.kind === "event") - (b.kind === "event"));
  showParameters();
  await look();
}

$("function").addEventListener("change", showParameters);
$("call").addEventListener("submit", runCall);
$("cancel").addEventListener("click", () => running && running.abort());
$("access").addEventListener("submit", event => {
  event.preventDefault();
  token = $("token").value;
  sessionStorage.setItem("token", token);
  start();
});
// #NAME?PARAMETER=VALUE&...: a call with its arguments, to be kept as a bookmark; it does not run by itself.
function fromAddress() {
  const [name, ...rest] = decodeURIComponent(location.hash.slice(1)).split("?");
  const at = program ? program.functions.findIndex(f => f.name === name) : -1;
  if (at < 0) return;
  $("function").selectedIndex = at;
  showParameters();
  for (const [key, value] of new URLSearchParams(rest.join("?"))) {
    const input = $("call").elements[key];
    if (input && input.type === "checkbox") input.checked = value === "true";
    else if (input) input.value = value;
  }
}
addEventListener("hashchange", fromAddress);
start().then(fromAddress);
setInterval(() => { if (program && !document.hidden) look(); }, EVERY);
