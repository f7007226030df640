const LOCKED = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
const OWN_FILES = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'", // Swagger UI sets style attributes
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** For the dashboard. Mantine and CodeMirror create style elements, which carry the nonce. */
export const dashboardPolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    'media-src data: blob:',
    "connect-src 'self'",
    "font-src 'self'",
    "frame-src 'self'", // pages of servers (MCP Apps), each in a sandbox of its own
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')

/** Sent with every response. Never CORS headers: no other origin may read a response. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': LOCKED,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
}

/** For the pages of the guide and of errors, which have no script. */
export const TEXT_PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': `${LOCKED}; style-src 'self'; img-src 'self'`,
}

/** For the interactive documentation, which loads scripts and styles from this origin only. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = { 'content-security-policy': OWN_FILES }
