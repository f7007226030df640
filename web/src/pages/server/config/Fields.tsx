import { NumberInput, Select, Switch, Textarea, TextInput } from '@mantine/core'
import { useEffect, useRef } from 'react'
import type { Server } from '../../../data/servers.ts'
import { useSession } from '../../../data/session.ts'
import { useSearchState } from '../../../url/search-state.ts'
import { search } from '../search.ts'
import css from './Config.module.css'
import type { Definition } from './changes.ts'
import { Isolation } from './Isolation.tsx'
import { t } from './messages.ts'
import { SuggestSecrets } from './SuggestSecrets.tsx'
import { Values } from './Values.tsx'

interface Props {
  readonly server: Server
  readonly draft: Definition
  /** What is wrong, by field. */
  readonly problems: Readonly<Record<string, string>>
  readonly onChange: (change: Definition) => void
}

/** The fields that people change. All others are in the JSON. */
export function Fields({ server, draft, problems, onChange }: Props) {
  const { mayChange } = useSession()
  const form = useRef<HTMLFieldSetElement>(null)
  const [{ field }] = useSearchState(search)
  const wanted = field.split('.')[0] ?? ''
  useEffect(() => {
    if (wanted !== '')
      form.current?.querySelector<HTMLElement>(`[data-field="${CSS.escape(wanted)}"]`)?.focus()
  }, [wanted])
  const text = (name: 'name' | 'command' | 'cwd' | 'url', placeholder?: string) => (
    <TextInput
      className={name === 'name' ? '' : (css.mono ?? '')}
      label={t(name)}
      placeholder={placeholder}
      value={String(draft[name] ?? '')}
      data-field={name}
      error={problems[name]}
      onChange={({ currentTarget: { value } }) =>
        onChange({ [name]: name === 'cwd' && value === '' ? null : value })
      }
    />
  )
  const args = ((draft.args ?? []) as readonly string[]).join('\n')
  const setArgs = (value: string) => onChange({ args: value === '' ? [] : value.split('\n') })
  const url = String(draft.url ?? '')
  const values = (name: 'env' | 'headers') => (
    <Values
      server={server}
      field={name}
      values={(draft[name] ?? {}) as Record<string, string>}
      wanted={wanted === name ? field.slice(name.length + 1) : undefined}
      onChange={(next) => onChange({ [name]: next })}
    />
  )
  const flag = (name: 'expose' | 'enabled') => (
    <Switch
      label={t(name)}
      checked={draft[name] === true}
      disabled={!mayChange}
      onChange={({ currentTarget }) => onChange({ [name]: currentTarget.checked })}
    />
  )
  const list = (draft.tags ?? []) as readonly string[]
  return (
    <fieldset ref={form} className={css.fields} style={{ border: 0, margin: 0 }} disabled={!mayChange}>
      {text('name')}
      {server.type === 'stdio' ? (
        <>
          {text('command')}
          <SuggestSecrets value={args} onChange={setArgs}>
            <Textarea
              className={css.mono ?? ''}
              label={t('args')}
              autosize
              minRows={2}
              maxRows={12}
              value={args}
              data-field="args"
              onChange={({ currentTarget: { value } }) => setArgs(value)}
            />
          </SuggestSecrets>
          {values('env')}
          {text('cwd', t('home'))}
        </>
      ) : (
        <>
          <SuggestSecrets value={url} onChange={(value) => onChange({ url: value })}>
            {text('url')}
          </SuggestSecrets>
          {values('headers')}
        </>
      )}
      <TextInput
        label={t('tags')}
        key={list.join()}
        defaultValue={list.join(', ')}
        onBlur={({ currentTarget: { value } }) => {
          const tags = value
            .split(',')
            .map((tag) => tag.trim())
            .filter(Boolean)
          if (tags.join() !== list.join()) onChange({ tags })
        }}
      />
      <Limits server={server} draft={draft} onChange={onChange} />
      {server.type === 'stdio' && (
        <Isolation isPackage={server.package !== null} draft={draft} onChange={onChange} />
      )}
      <div className={css.pair}>
        {flag('expose')}
        {server.type === 'http' && flag('enabled')}
      </div>
    </fieldset>
  )
}

const MODES = ['on_demand', 'eager', 'manual'] as const
const POLICIES = ['on_failure', 'always', 'never'] as const

function Limits({ server, draft, onChange }: Omit<Props, 'problems'>) {
  const { mayChange } = useSession()
  const timeouts = (draft.timeouts ?? {}) as Readonly<Record<string, number | null>>
  const restart = (draft.restart ?? {}) as Readonly<Record<string, unknown>>
  const limit = (name: 'start_s' | 'request_s' | 'connect_s') => (
    <NumberInput
      label={t(name)}
      placeholder={t('default')}
      hideControls
      disabled={!mayChange}
      value={timeouts[name] ?? ''}
      onChange={(value) =>
        onChange({ timeouts: { ...timeouts, [name]: typeof value === 'number' ? value : null } })
      }
    />
  )
  return (
    <>
      {server.type === 'stdio' && (
        <div className={css.pair}>
          <Select
            label={t('start_mode')}
            data={MODES.map((value) => ({ value, label: t(value) }))}
            value={String(draft.start_mode)}
            disabled={!mayChange}
            onChange={(value) => onChange({ start_mode: value })}
          />
          <Select
            label={t('policy')}
            data={POLICIES.map((value) => ({ value, label: t(value) }))}
            value={String(restart.policy)}
            disabled={!mayChange}
            onChange={(value) => onChange({ restart: { ...restart, policy: value } })}
          />
        </div>
      )}
      <div className={css.pair}>
        {limit(server.type === 'stdio' ? 'start_s' : 'connect_s')}
        {limit('request_s')}
      </div>
    </>
  )
}
