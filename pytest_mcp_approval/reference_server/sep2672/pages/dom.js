// Elements, and announcements for screen readers. Text goes in as text: nothing here takes markup.

export const byId = (id) => document.getElementById(id);

/** An element; children that are text stay text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

/** Announce to a screen reader, whatever has the focus. */
export function announce(text) {
  byId("live").textContent = text;
}

/** A point in time in this machine's time zone; unchanged if it is none. */
export function showTime(element, text) {
  const instant = new Date(typeof text === "string" ? text : NaN);
  if (Number.isNaN(instant.getTime())) {
    element.removeAttribute("datetime");
    element.textContent = text === undefined ? "not said" : String(text);
    return;
  }
  const today = new Date().toDateString() === instant.toDateString();
  element.dateTime = instant.toISOString();
  element.textContent = today ? instant.toLocaleTimeString() : instant.toLocaleString();
}
