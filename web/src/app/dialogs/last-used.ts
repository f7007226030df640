/** The commands of the palette that were used last, newest first. Of this browser. */
const STORED = 'toolroom.palette'
const KEPT = 8

export function lastUsed(): readonly string[] {
  try {
    const ids: unknown = JSON.parse(localStorage.getItem(STORED) ?? '[]')
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string').slice(0, KEPT) : []
  } catch {
    return [] // not written by us
  }
}

export function remember(id: string): void {
  const others = lastUsed().filter((each) => each !== id)
  localStorage.setItem(STORED, JSON.stringify([id, ...others].slice(0, KEPT)))
}
