/**
 * What was changed and not saved yet, so that it survives a reload of this tab. It is kept in sessionStorage, which no other
 * tab reads, and never has a secret in it: the caller leaves out what may be one.
 */

const PREFIX = 'toolroom.draft.'

export function readDraft<T>(name: string): T | undefined {
  try {
    const text = sessionStorage.getItem(PREFIX + name)
    return text === null ? undefined : (JSON.parse(text) as T)
  } catch {
    return undefined // damaged, or of another version
  }
}

/** Undefined: there is nothing left to save. */
export function writeDraft(name: string, draft: unknown): void {
  try {
    if (draft === undefined) sessionStorage.removeItem(PREFIX + name)
    else sessionStorage.setItem(PREFIX + name, JSON.stringify(draft))
  } catch {
    // The storage is full or switched off. Then the draft lives as long as the page.
  }
}
