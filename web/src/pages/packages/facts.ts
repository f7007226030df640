import type { Found } from '../../data/packages.ts'
import { count } from '../../format/format.ts'
import { t } from './messages.ts'

export interface Fact {
  readonly fact: string
  readonly state: 'good' | 'look' | 'unknown'
  readonly text: string
  /** The sentence of the service. */
  readonly detail: string
}

/** The facts in few words, what needs a look first. Good facts that go without saying are left out, unknown ones are one. */
export function factsOf(found: Found): Fact[] {
  const facts = found.trust.flatMap(({ fact, state, detail }) => {
    const text = state === 'look' ? lookText(fact, detail) : quietText(found, fact, state)
    return text === undefined ? [] : [{ fact, state, text, detail }]
  })
  const known = facts.filter(({ state }) => state !== 'unknown')
  const unknown = facts.filter(({ state }) => state === 'unknown')
  const rank = { look: 0, good: 1, unknown: 2 }
  return [
    ...known.toSorted((a, b) => rank[a.state] - rank[b.state]),
    ...(unknown.length === 0 ? [] : [together(unknown)]),
  ]
}

function together(unknown: readonly Fact[]): Fact {
  const what = unknown.map(({ text }) => text).join(', ')
  const detail = unknown.map((each) => each.detail).join('\n')
  return { fact: 'unknown', state: 'unknown', text: t('severalUnknown', { what }), detail }
}

export const isSuspicious = ({ trust }: Found): boolean =>
  trust.some(({ fact, state }) => state === 'look' && (fact === 'near_name' || fact === 'deprecated'))

export const hasFact = ({ trust }: Found, fact: string): boolean =>
  trust.some((each) => each.fact === fact && each.state === 'good')

const lookText = (fact: string, detail: string): string =>
  fact === 'install_scripts' ? t('factScriptsLook') : `${detail.charAt(0).toLowerCase()}${detail.slice(1)}`

/** Undefined: not worth a word. */
function quietText(found: Found, fact: string, state: 'good' | 'unknown'): string | undefined {
  const isGood = state === 'good'
  switch (fact) {
    case 'install_scripts':
      return isGood ? t('factScriptsGood') : t('factScriptsUnknown')
    case 'published_recently':
      return isGood && found.date !== null
        ? t('factDate', { date: found.date.slice(0, 10) })
        : t('factDateUnknown')
    case 'provenance':
      return isGood ? t('factProvenance') : t('factProvenanceUnknown')
    case 'downloads':
      return isGood && found.downloads_weekly !== null
        ? t('factDownloads', { count: count(found.downloads_weekly) })
        : t('factDownloadsUnknown')
    case 'package_age':
      return isGood ? undefined : t('factAgeUnknown')
    case 'repository':
      return isGood ? undefined : t('factRepositoryUnknown')
    case 'license':
      return isGood ? undefined : t('factLicenseUnknown')
    case 'publisher':
      return isGood ? undefined : t('factPublisherUnknown')
    case 'deprecated':
      return isGood ? undefined : t('factDeprecatedUnknown')
    default:
      return undefined
  }
}
