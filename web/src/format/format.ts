/** How figures are shown, everywhere the same: `9 ms`, `1.3 s`, `2 m 04 s`, `1 284`, `84 MB`, `11.2k`, `1.2 %`. */

const NONE = '–'
/** A narrow space that does not break. */
const THIN = '\u202f'

export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return NONE
  if (ms < 0.95) return ms === 0 ? '0 ms' : `${ms.toFixed(1)} ms`
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  return long(Math.round(ms / 1000))
}

/** Of seconds, in at most two units: `2 h`, `38 m`, `2 m 04 s`, `3 d 4 h`. */
export function long(seconds: number): string {
  const s = Math.floor(seconds)
  if (s < 60) return `${s} s`
  if (s < 600) return `${Math.floor(s / 60)} m ${String(s % 60).padStart(2, '0')} s`
  if (s < 3600) return `${Math.floor(s / 60)} m`
  if (s < 86_400) return `${Math.floor(s / 3600)} h`
  return `${Math.floor(s / 86_400)} d`
}

/** Of seconds that are one round span: `30 s`, `1 m`, `3 h`, `2 d`. */
export function whole(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${seconds / 60} m`
  return seconds < 86_400 ? `${seconds / 3600} h` : `${seconds / 86_400} d`
}

export function count(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, THIN)
}

/** Of tokens: `950`, `11.2k`, `34k`. */
export function tokens(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE
  if (value < 100) return String(value)
  if (value < 19_950) return `${(value / 1000).toFixed(1)}k`
  return `${Math.round(value / 1000)}k`
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE
  if (value < 1000) return `${value} B`
  if (value < 99_500) return `${(value / 1000).toFixed(1)} kB`
  if (value < 999_500) return `${Math.round(value / 1000)} kB`
  if (value < 999_500_000) return `${Math.round(value / 1e6)} MB`
  return `${(value / 1e9).toFixed(1)} GB`
}

/** Of a share from 0 to 1. */
export function share(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE
  return percent(value * 100)
}

export function percent(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE
  if (value === 0) return '0 %'
  return value < 9.95 ? `${value.toFixed(1)} %` : `${Math.round(value)} %`
}

const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const SECONDS = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** Local time: `12:04`, or `14 Nov` if it was on another day. */
export function clock(at: string | number | Date): string {
  const date = new Date(at)
  return date.toDateString() === new Date().toDateString() ? CLOCK.format(date) : DAY.format(date)
}
export const seconds = (at: string | number | Date): string => SECONDS.format(new Date(at))
/** `12:04:31.702` */
export function millis(at: string | number | Date): string {
  const date = new Date(at)
  return `${SECONDS.format(date)}.${String(date.getMilliseconds()).padStart(3, '0')}`
}
/** For tooltips. */
export const iso = (at: string | number | Date): string => new Date(at).toISOString()

/** Paths below the home folder begin with `~`: `~/.claude.json`. */
export function withTilde(text: string, home: string | undefined): string {
  if (!home || home.length < 2) return text
  const [start = '', ...parts] = text.split(home)
  return parts.reduce((done, part) => done + (/^[\w.-]/.test(part) ? home : '~') + part, start)
}
