import { Popover, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useServers } from '../../data/servers.ts'
import { count } from '../../format/format.ts'
import { Act, IconAct } from '../../parts/controls/Act.tsx'
import { Seg } from '../../parts/controls/Seg.tsx'
import { Icon } from '../../parts/marks/icons.tsx'
import { ServerBoxes } from '../../parts/server/ServerBoxes.tsx'
import { type Choice, LEVELS, SINCE, STREAMS } from './filter.ts'
import css from './Logs.module.css'
import { t } from './messages.ts'

type Change = (change: Partial<Choice>) => void
interface Props {
  readonly choice: Choice
  readonly change: Change
  readonly matches: number | undefined
}
const MATCHES = [
  { value: 'only', label: t('only') },
  { value: 'mark', label: t('mark') },
] as const

/** On a phone only the search, until the others are asked for. */
export function Filters({ choice, change, matches }: Props) {
  const [isOpen, setOpen] = useState(false)
  return (
    <search className={css.filters} aria-label={t('filters')} data-open={isOpen || undefined}>
      <Servers chosen={choice.servers} onChange={(servers) => change({ servers })} />
      <Pick
        label={t('level')}
        width={166}
        value={choice.level}
        options={LEVELS.map((level) => ({
          value: level,
          label: level === 'trace' ? t('everything') : t('andUp', { level }),
        }))}
        onChange={(level) => change({ level })}
      />
      <Pick
        label={t('stream')}
        width={128}
        value={choice.stream}
        options={STREAMS.map((stream) => ({
          value: stream,
          label: stream === 'all' ? t('allStreams') : stream,
        }))}
        onChange={(stream) => change({ stream })}
      />
      <TextInput
        className={css.search}
        aria-label={t('search')}
        placeholder={t('search')}
        data-filter
        maxLength={256}
        value={choice.q}
        onChange={({ currentTarget }) => change({ q: currentTarget.value })}
        leftSection={<Icon name="search" />}
        rightSectionWidth={choice.q === '' ? 0 : 120}
        rightSection={
          choice.q !== '' && (
            <span className={css.matches}>
              {matches !== undefined && t('matches', { count: matches, lines: count(matches) })}
              <IconAct size="xs" icon="close" label={t('emptySearch')} onClick={() => change({ q: '' })} />
            </span>
          )
        }
      />
      <span className={css.toggle}>
        <Act onClick={() => setOpen(!isOpen)}>{isOpen ? t('fewerFilters') : t('filters')}</Act>
      </span>
      <Seg
        label={t('show')}
        value={choice.matches}
        options={MATCHES}
        onChange={(next) => change({ matches: next })}
      />
      <span className={css.since}>
        <Pick
          label={t('since')}
          width={110}
          value={choice.since}
          options={SINCE.map((since) => ({ value: since, label: sinceLabel(since) }))}
          onChange={(since) => change({ since, from: undefined, to: undefined })}
        />
      </span>
    </search>
  )
}

export const sinceLabel = (since: Choice['since']): string =>
  since === 'all' ? t('sinceAll') : since.replace(/(\d+)/, '$1 ')

interface PickProps<T extends string> {
  readonly label: string
  readonly width: number
  readonly value: T
  readonly options: readonly { readonly value: T; readonly label: string }[]
  readonly onChange: (value: T) => void
}

function Pick<T extends string>({ label, width, value, options, onChange }: PickProps<T>) {
  return (
    <Select
      aria-label={label}
      w={width}
      value={value}
      data={[...options]}
      onChange={(next) => {
        const found = options.find((option) => option.value === next)
        if (found) onChange(found.value)
      }}
      leftSection={<span className={css.pickLabel}>{label}</span>}
      leftSectionPointerEvents="none"
      leftSectionWidth={label.length * 7 + 20}
      comboboxProps={{ width: 'max-content', position: 'bottom-start' }}
    />
  )
}

interface ServersProps {
  readonly chosen: readonly string[]
  readonly onChange: (servers: readonly string[]) => void
}

function Servers({ chosen, onChange }: ServersProps) {
  const { servers = [] } = useServers()
  const toggle = (id: string) =>
    onChange(chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id])
  const all = servers.length
  return (
    <Popover position="bottom-start" trapFocus returnFocus>
      <Popover.Target>
        <button type="button" className={css.servers}>
          <span>{t('servers')}</span>
          {chosen.length === 0
            ? t('allServers', { count: all })
            : t('someServers', { count: chosen.length, all })}
          <Icon name="down" size={14} />
        </button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('servers')}>
        {all === 0 && <p className="muted">{t('noServers')}</p>}
        <ServerBoxes className={css.serverList} chosen={chosen} onToggle={toggle} />
        {chosen.length > 0 && (
          <Act size="xs" look="quiet" onClick={() => onChange([])}>
            {t('everyServer')}
          </Act>
        )}
      </Popover.Dropdown>
    </Popover>
  )
}
