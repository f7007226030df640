import { PasswordInput, Select, TextInput } from '@mantine/core'
import type { UnderstoodItem } from '../../../data/server/add-server.ts'
import { type Confinement, NO_GRANTS, usePlaces } from '../../../data/server/isolation.ts'
import { Act, IconAct } from '../../../parts/controls/Act.tsx'
import { IsolationFields } from '../../../parts/isolation/IsolationFields.tsx'
import { AgentChoice } from '../../../parts/server/AgentChoice.tsx'
import css from './Add.module.css'
import { t } from './messages.ts'

export interface Choices {
  readonly name: string
  readonly variables: readonly { readonly name: string; readonly value: string }[]
  readonly cwd: string
  readonly start_mode: 'on_demand' | 'eager' | 'manual'
  /** Undefined: those of the setting, or of a container that the snippet runs. */
  readonly confinement: Confinement | undefined
  /** Undefined: those that follow all servers. */
  readonly agents: readonly string[] | undefined
  readonly copy_secrets: boolean
}
export const NO_CHOICES: Choices = {
  name: '',
  variables: [],
  cwd: '',
  start_mode: 'on_demand',
  confinement: undefined,
  agents: undefined,
  copy_secrets: true,
}

interface Props {
  readonly choices: Choices
  readonly onChange: (change: Partial<Choices>) => void
  /** Of the only server; with several there is nothing to name. */
  readonly single:
    | {
        readonly name: string
        readonly isLocal: boolean
        readonly env: readonly string[]
        readonly namesImage: boolean
        readonly container: UnderstoodItem['container']
      }
    | undefined
}

const MODES = ['on_demand', 'eager', 'manual'] as const

/** Name, variables, folder, start mode, isolation and agents. */
export function Options({ choices, onChange, single }: Props) {
  const { data: places } = usePlaces()
  return (
    <dl className={css.fields}>
      {single && (
        <>
          <dt>{t('name')}</dt>
          <dd>
            <TextInput
              aria-label={t('name')}
              placeholder={single.name}
              value={choices.name}
              onChange={({ currentTarget }) => onChange({ name: currentTarget.value })}
            />
          </dd>
        </>
      )}
      {single?.isLocal && (
        <>
          <dt className={css.top}>{t('env')}</dt>
          <dd className={css.rows}>
            {single.env.map((name) => (
              <span key={name} className="mono">
                {name} <span className="muted">{t('isSet')}</span>
              </span>
            ))}
            <Variables variables={choices.variables} onChange={(variables) => onChange({ variables })} />
          </dd>
          <dt>{t('folder')}</dt>
          <dd>
            <TextInput
              aria-label={t('folder')}
              placeholder={t('home')}
              value={choices.cwd}
              onChange={({ currentTarget }) => onChange({ cwd: currentTarget.value })}
            />
          </dd>
          <dt>{t('start')}</dt>
          <dd>
            <Select
              aria-label={t('start')}
              w={180}
              data={MODES.map((value) => ({ value, label: t(value) }))}
              value={choices.start_mode}
              onChange={(value) =>
                onChange({ start_mode: MODES.find((mode) => mode === value) ?? 'on_demand' })
              }
            />
          </dd>
          <dt className={css.top}>{t('isolation')}</dt>
          <dd>
            <IsolationFields
              confinement={choices.confinement ?? confinementOf(single.container, places?.default)}
              namesImage={single.namesImage}
              onChange={(confinement) => onChange({ confinement })}
            />
          </dd>
        </>
      )}
      <dt className={css.top}>{t('enableIn')}</dt>
      <dd>
        <AgentChoice chosen={choices.agents} onChange={(agents) => onChange({ agents })} />
      </dd>
    </dl>
  )
}

/** Those that it gets if none are chosen. */
function confinementOf(
  container: UnderstoodItem['container'],
  isolation: Confinement['isolation'] = 'none',
): Confinement {
  if (container === null) return { isolation, isolation_options: NO_GRANTS }
  const { network, memory_mb, pids } = container
  const limits = { memory_mb: memory_mb ?? NO_GRANTS.memory_mb, pids: pids ?? NO_GRANTS.pids }
  return { isolation: 'container', isolation_options: { ...NO_GRANTS, network, ...limits } }
}

interface VariablesProps {
  readonly variables: Choices['variables']
  readonly onChange: (variables: Choices['variables']) => void
}

function Variables({ variables, onChange }: VariablesProps) {
  const set = (at: number, change: Partial<Choices['variables'][number]>) =>
    onChange(variables.map((each, index) => (index === at ? { ...each, ...change } : each)))
  return (
    <>
      {variables.map(({ name, value }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row has no other identity
        <span key={index} className={css.variable}>
          <TextInput
            aria-label={t('variable', { number: index + 1 })}
            value={name}
            onChange={({ currentTarget }) => set(index, { name: currentTarget.value })}
          />
          <PasswordInput
            aria-label={t('value', { number: index + 1 })}
            value={value}
            autoComplete="off"
            onChange={({ currentTarget }) => set(index, { value: currentTarget.value })}
          />
          <IconAct
            icon="close"
            label={t('removeVariable', { number: index + 1 })}
            onClick={() => onChange(variables.filter((_, at) => at !== index))}
          />
        </span>
      ))}
      <Act size="xs" icon="plus" onClick={() => onChange([...variables, { name: '', value: '' }])}>
        {t('addVariable')}
      </Act>
    </>
  )
}
