/**
 * The page that people enrol and approve on: the files of public/, and nothing else. No script, style or
 * connection but the server's own; nothing inline; in nobody's frame.
 */
import { readFile } from 'node:fs/promises';

const FILES = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/app.js': ['app.js', 'text/javascript; charset=utf-8'],
  '/rpc.js': ['rpc.js', 'text/javascript; charset=utf-8'],
  '/style.css': ['style.css', 'text/css; charset=utf-8'],
  '/icon.svg': ['icon.svg', 'image/svg+xml'],
};
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

/** @returns {Record<string, import('node:http').RequestListener>} by path */
export function pageRoutes() {
  return Object.fromEntries(Object.entries(FILES).map(([path, [name, type]]) => [path, file(name, type)]));
}

function file(name, type) {
  return async (request, response) => {
    if (request.method !== 'GET') {
      response.writeHead(405, { allow: 'GET' }).end();
      return;
    }
    const content = await readFile(new URL(`./public/${name}`, import.meta.url));
    response.writeHead(200, { ...HEADERS, 'content-type': type }).end(content);
  };
}
