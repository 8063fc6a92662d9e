// The arguments of a call, from a form that follows the tool's schema or from JSON as it is typed.
// Nothing is filled in: an empty field is left out, and a default of the schema is only mentioned, since
// nobody signs for it (SEP-2672 section 8.3.3). Knows no server.

import { make } from "./dom.js";

/** A field that cannot be read; the message says what was expected. */
class FieldError extends Error {
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

/** {element, read}: `read()` returns the arguments, or undefined after saying what is wrong at its place. */
export function argumentsForm(schema) {
  const properties = schema?.properties !== null && typeof schema?.properties === "object" ? schema.properties : {};
  const required = new Set(Array.isArray(schema?.required) ? schema.required : []);
  const fields = Object.entries(properties).map(([name, part], index) => field(name, part ?? {}, required.has(name), `argument-${index}`));
  const area = make("textarea", { id: "arguments-json", rows: "6", spellcheck: "false", autocomplete: "off", "aria-describedby": "arguments-json-hint arguments-json-error" });
  const raw = { control: area, error: make("p", { id: "arguments-json-error", class: "field-error", hidden: true }), name: "The arguments" };
  const rawPart = make("div", { class: "field", hidden: true },
    make("label", { for: "arguments-json" }, "Arguments (JSON)"),
    make("p", { id: "arguments-json-hint", class: "hint" }, "One JSON object. It is sent as it is."),
    area, raw.error);
  const formPart = make("div", {}, ...fields.map((one) => one.element));
  if (!fields.length) formPart.append(make("p", { class: "soft" }, "This tool takes no arguments."));
  const toggle = make("input", { id: "as-json", type: "checkbox" });
  toggle.addEventListener("change", () => {
    rawPart.hidden = !toggle.checked;
    formPart.hidden = toggle.checked;
    if (toggle.checked && !area.value.trim()) area.value = JSON.stringify(whatCanBeRead(fields), null, 2);
  });
  const element = make("div", {}, formPart, rawPart, make("label", { class: "toggle", for: "as-json" }, toggle, "Write the arguments as JSON"));

  function read() {
    const used = toggle.checked ? [raw] : fields;
    for (const one of used) complain(one, "");
    try {
      return toggle.checked ? readJson(raw, true) : readAll(fields);
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      complain(error.field, error.message);
      error.field.control.focus();
      return undefined;
    }
  }

  return { element, read };
}

function field(name, schema, isRequired, id) {
  const kind = kindOf(schema);
  const described = `${id}-hint ${id}-error`;
  const shared = { id, "aria-describedby": described, "aria-required": isRequired ? "true" : undefined, autocomplete: "off", spellcheck: "false" };
  let control;
  if (kind === "choice") {
    const values = schema.type === "boolean" ? [true, false] : schema.enum;
    control = make("select", shared, make("option", { value: "" }, isRequired ? "Choose …" : "Leave out"),
      ...values.map((value) => make("option", { value: JSON.stringify(value) }, typeof value === "string" ? value : JSON.stringify(value))));
  } else if (kind === "json") {
    control = make("textarea", { ...shared, rows: "2" });
  } else {
    control = make("input", { ...shared, type: "text", inputmode: kind === "number" ? "decimal" : undefined });
  }
  const hints = [];
  if (typeof schema.description === "string") hints.push(/[.!?]$/.test(schema.description) ? schema.description : `${schema.description}.`);
  if (kind === "number") hints.push(schema.type === "integer" ? "A whole number." : "A number.");
  if (kind === "json") hints.push("As JSON, for example \"text\", 7 or [1, 2].");
  if (schema.default !== undefined) hints.push(`The tool's own default is ${JSON.stringify(schema.default)}; it is not sent.`);
  const error = make("p", { id: `${id}-error`, class: "field-error", hidden: true });
  const element = make("div", { class: "field" },
    make("label", { for: id }, name, isRequired ? "" : make("span", { class: "soft" }, " (optional)")),
    make("p", { id: `${id}-hint`, class: "hint", hidden: !hints.length }, hints.join(" ")),
    control, error);
  return { name, kind, schema, isRequired, control, error, element };
}

function kindOf(schema) {
  if (Array.isArray(schema.enum) || schema.type === "boolean") return "choice";
  if (schema.type === "integer" || schema.type === "number") return "number";
  return schema.type === "string" ? "text" : "json";
}

function readAll(fields) {
  const values = {};
  for (const one of fields) {
    const text = one.kind === "text" ? one.control.value : one.control.value.trim();
    if (text === "") {
      if (one.isRequired) throw new FieldError(one, `${one.name} is needed.`);
      continue;
    }
    // Not by assignment: a property may be called __proto__.
    Object.defineProperty(values, one.name, { value: valueOf(one, text), enumerable: true, configurable: true, writable: true });
  }
  return values;
}

function valueOf(one, text) {
  if (one.kind === "text") return text;
  if (one.kind === "choice") return JSON.parse(text);
  if (one.kind === "json") return readJson(one, false);
  if (!/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) throw new FieldError(one, `${one.name}: got “${text}”, expected a number such as 10.`);
  const number = Number(text);
  if (one.schema.type === "integer" && !Number.isInteger(number)) throw new FieldError(one, `${one.name}: got ${text}, expected a whole number.`);
  requireExact(one, number);
  return number;
}

function readJson(one, isWhole) {
  const text = one.control.value;
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new FieldError(one, `${one.name}: this is not JSON (${error.message}).`);
  }
  JSON.parse(text, (_, part) => { if (typeof part === "number") requireExact(one, part); return part; });
  if (isWhole && (value === null || typeof value !== "object" || Array.isArray(value))) throw new FieldError(one, `${one.name}: expected one JSON object, such as {"name": "value"}.`);
  return value;
}

/** A page must not ask for approval of a number that it cannot hold exactly. */
function requireExact(one, number) {
  if (!Number.isFinite(number) || (Number.isInteger(number) && !Number.isSafeInteger(number))) {
    throw new FieldError(one, `${one.name}: a number is too large to be sent exactly; write it as text.`);
  }
}

function whatCanBeRead(fields) {
  const values = {};
  for (const one of fields) {
    try {
      Object.assign(values, readAll([{ ...one, isRequired: false }]));
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
    }
  }
  return values;
}

function complain(one, message) {
  one.error.textContent = message;
  one.error.hidden = message === "";
  one.control.setAttribute("aria-invalid", String(message !== ""));
}
