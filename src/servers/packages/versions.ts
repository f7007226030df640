import { gt, valid } from 'semver'

/** Whether the latest version is known and newer than the installed one. */
export const isNewer = (latest: string | null, installed: string): boolean =>
  latest !== null && valid(latest) !== null && valid(installed) !== null && gt(latest, installed)
