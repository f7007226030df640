const NPM_NAME = /^(?:npm:)?((?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*(?:@[\w.-]+)?)$/i

/** A single word that is no URL and no path is the name of a package, which `npx` runs. */
export function snippetOf(text: string): string {
  const trimmed = text.trim()
  const name = NPM_NAME.exec(trimmed)?.[1]
  return name === undefined ? trimmed : `npx -y ${name}`
}
