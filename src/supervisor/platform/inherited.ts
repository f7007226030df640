/**
 * The variables that a child inherits on every system, where they are set: the language, the folder for temporary files,
 * and how the network is reached. Proxies are read by some programs in capitals and by others in small letters.
 */
const PROXIES = ['ALL_PROXY', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']
export const INHERITED_EVERYWHERE: readonly string[] = [
  'LANG',
  'LC_ALL',
  'TEMP',
  'TMP',
  'TMPDIR',
  ...PROXIES,
  ...PROXIES.map((name) => name.toLowerCase()),
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
]
