import { WINDOWS } from '../../data/metrics.ts'
import { flag, oneOf, searchState, text } from '../../url/search-state.ts'

export const TABS = ['overview', 'tools', 'traffic', 'logs', 'config', 'agents'] as const

export const search = searchState({
  tab: oneOf(TABS, 'overview'),
  window: oneOf(WINDOWS, '1h'),
  table: flag(),
  /** The field of the form to focus: `env`, `env.TOKEN`, `command`. */
  field: text(),
  /** Run the checks, which may start the server once. */
  check: flag(),
  /** Try it in isolation. */
  trial: flag(),
  q: text(),
  unused: flag(),
})
