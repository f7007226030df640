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
  /** What registries answered. No event of ours changes that, so it is not asked again while a package is installed. */
  'registry',
  'calls',
  'metrics',
  'logs',
  'saved-calls',
  'settings',
  'health',
] as const
export type Root = (typeof ROOTS)[number]
