import type { Schemas } from '../../data/api.ts'
import { texts } from '../../i18n/texts.ts'

const t = texts('found', {
  agents: { one: '{count} agent', other: '{count} agents' },
  entries: { one: '{count} server entry', other: '{count} server entries' },
  different: { one: '{count} different server', other: '{count} different servers' },
  found: '{agents}, {entries} ({different}).',
})

/** What is on this computer, in the figures that the command line shows, too. */
export const foundSentence = ({ agents_found, entries, different_servers }: Schemas['AgentScan']): string =>
  t('found', {
    agents: t('agents', { count: agents_found }),
    entries: t('entries', { count: entries }),
    different: t('different', { count: different_servers }),
  })
