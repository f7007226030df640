import type { Level } from '../metrics-store.ts'

const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

export const STEP_MS: Readonly<Record<Level, number>> = { seconds: 1000, minutes: MINUTE_MS, hours: HOUR_MS }

/** How long seconds and minutes are kept; the retention of hours is a setting. */
export const SECONDS_FOR_MS = 15 * MINUTE_MS
export const MINUTES_FOR_MS = 48 * HOUR_MS

export const WINDOWS = ['5m', '1h', '24h', '7d'] as const
export type WindowName = (typeof WINDOWS)[number]

/** `level` is the finest one that is kept for the whole window. */
export const WINDOW: Readonly<Record<WindowName, { readonly ms: number; readonly level: Level }>> = {
  '5m': { ms: 5 * MINUTE_MS, level: 'seconds' },
  '1h': { ms: HOUR_MS, level: 'minutes' },
  '24h': { ms: DAY_MS, level: 'minutes' },
  '7d': { ms: 7 * DAY_MS, level: 'hours' },
}

export const floorTo = (ts: number, step: number): number => Math.floor(ts / step) * step
export const ceilTo = (ts: number, step: number): number => Math.ceil(ts / step) * step
