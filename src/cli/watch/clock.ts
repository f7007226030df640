/** The local time of a timestamp, with its date unless that is today: `12:05:10`, `2026-11-15 12:05:10`. */
export function clock(ts: string, now = new Date()): string {
  const at = new Date(ts)
  const two = (value: number) => String(value).padStart(2, '0')
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':')
  if (at.toDateString() === now.toDateString()) return time
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`
}
