import { Switch, TextInput, Tooltip } from '@mantine/core'
import { type KeyboardEvent, useEffect, useState } from 'react'
import { useShort } from '../../data/live/home-folder.ts'
import { useSession } from '../../data/session.ts'
import { type Setting, useChangeSetting } from '../../data/settings.ts'
import { Seg } from '../../parts/controls/Seg.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { Entry } from './Entry.tsx'
import { t } from './messages.ts'
import css from './Settings.module.css'
import { type Control, nameOf, textOf } from './sections.ts'

interface Props {
  readonly setting: Setting
  readonly control: Control
}

/** A setting of the service. What a flag or a variable sets cannot be changed here, and says so. */
export function SettingRow({ setting, control }: Props) {
  const { key, env, restart_needed } = setting
  const reason = reasonOf(setting, control)
  const change = useChangeSetting()
  const save = (value: unknown) =>
    change.mutate(
      { key, value },
      {
        onSuccess: () => showDone(t('saved', { name: nameOf(key) })),
        onError: (error) => showFailure(error),
      },
    )
  return (
    <Entry name={nameOf(key)} text={textOf(key)} keys={`${key} · ${env}`}>
      {restart_needed && <span className="warn sm">{t('restartNeeded')}</span>}
      <Tooltip label={reason} disabled={reason === undefined}>
        <div className={css.field}>
          <Field setting={setting} control={control} isFixed={reason !== undefined} onSave={save} />
        </div>
      </Tooltip>
      {reason !== undefined && <span className={`muted xs ${css.reason}`}>{reason}</span>}
    </Entry>
  )
}

function reasonOf({ source, env }: Setting, { kind }: Control): string | undefined {
  if (kind === 'fixed') return t('fixed')
  if (source === 'flag') return t('setBy', { source: t('bySourceflag') })
  if (source === 'environment') return t('setBy', { source: t('bySourceenvironment', { env }) })
  return source === 'env_file' ? t('setBy', { source: t('bySourceenv_file', { env }) }) : undefined
}

interface FieldProps extends Props {
  readonly isFixed: boolean
  readonly onSave: (value: unknown) => void
}

function Field({ setting, control, isFixed, onSave }: FieldProps) {
  const { mayChange } = useSession()
  const isOff = isFixed || !mayChange
  const label = nameOf(setting.key)
  if (control.kind === 'switch')
    return (
      <Switch
        aria-label={label}
        checked={setting.value === true}
        disabled={isOff}
        onChange={({ currentTarget }) => onSave(currentTarget.checked)}
      />
    )
  if (control.kind === 'choice' && !isOff)
    return <Seg label={label} value={String(setting.value)} options={control.options} onChange={onSave} />
  return <TextField setting={setting} control={control} isOff={isOff} label={label} onSave={onSave} />
}

interface TextProps extends Props {
  readonly isOff: boolean
  readonly label: string
  readonly onSave: (value: unknown) => void
}

/** Saved with Enter or when the field is left. An empty field is the default. */
function TextField({ setting, control, isOff, label, onSave }: TextProps) {
  const short = useShort()
  const now = control.kind === 'fixed' ? short(shown(setting)) : shown(setting)
  const [text, setText] = useState(now)
  useEffect(() => setText(now), [now])
  const save = () => {
    if (text.trim() === now) return
    if (text.trim() === '') return onSave(null)
    // What is no number goes as it is: the service says what it expects.
    if (control.kind === 'number') return onSave(Number.isFinite(Number(text)) ? Number(text) : text.trim())
    onSave(
      control.kind === 'list'
        ? text
            .split(',')
            .map((part) => part.trim())
            .filter(Boolean)
        : text.trim(),
    )
  }
  const isNumber = control.kind === 'number'
  return (
    <TextInput
      aria-label={label}
      className={isNumber ? css.number : css.text}
      classNames={{ input: isNumber ? undefined : 'mono' }}
      inputMode={isNumber ? 'numeric' : 'text'}
      placeholder={t('notSet')}
      disabled={isOff}
      value={text}
      onChange={({ currentTarget }) => setText(currentTarget.value)}
      onBlur={save}
      onKeyDown={({ key }: KeyboardEvent) => key === 'Enter' && save()}
      {...(isNumber &&
        control.unit !== '' && {
          rightSection: <span className="muted sm">{control.unit}</span>,
          rightSectionWidth: 64,
        })}
    />
  )
}

function shown({ value, secret }: Setting): string {
  if (value === null || value === undefined) return ''
  if (secret) return t('isSet')
  return Array.isArray(value) ? value.join(', ') : String(value)
}
