/**
 * The first part of every query key: what a piece of data belongs to. The live stream refreshes by these names, so a
 * hook that uses one of them is up to date without knowing the stream.
 */
export const ROOTS = [
  'servers',
  'tools',
  'agents',
  'notices',
  'events',
  'jobs',
  'packages',
  'calls',
  'metrics',
  'logs',
  'saved-calls',
  'settings',
  'health',
] as const
export type Root = (typeof ROOTS)[number]
