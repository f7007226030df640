import { TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useRemoveSecret, useSaveSecret, useSecrets } from '../../data/settings.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showDone, showFailure, showUndo } from '../../parts/controls/toasts.tsx'
import { Time } from '../../parts/marks/Time.tsx'
import { Entry } from './Entry.tsx'
import { t } from './messages.ts'
import css from './Settings.module.css'
import { useLeaving } from './use-leaving.ts'

/** Secrets that servers refer to by name. Values go in and never come out. */
export function Secrets() {
  const { data } = useSecrets()
  const remove = useRemoveSecret()
  const { isLeaving, leave, stay } = useLeaving()
  const secrets = data?.items.filter(({ name }) => !isLeaving(name)) ?? []
  const take = (name: string) => {
    leave(name)
    showUndo({
      title: t('removed', { name }),
      onUndo: () => stay(name),
      onOver: () =>
        remove.mutate(name, { onError: (error) => showFailure(error), onSettled: () => stay(name) }),
    })
  }
  return (
    <>
      <Entry name={t('secrets')} text={t('secretsText')}>
        <NewSecret />
      </Entry>
      {secrets.map(({ name, used_by, updated_at }) => (
        <div key={name} className={css.secret}>
          <span className="mono strong grow cut">{name}</span>
          <span className="muted sm cut">{used_by.length > 0 && `${t('usedBy')} ${used_by.join(', ')}`}</span>
          <span className="muted sm">
            <Time at={updated_at} />
          </span>
          <Act size="xs" look="danger" changes onClick={() => take(name)}>
            {t('remove')}
          </Act>
        </div>
      ))}
      {data && secrets.length === 0 && <p className={`muted ${css.none}`}>{t('noSecrets')}</p>}
    </>
  )
}

function NewSecret() {
  const [name, setName] = useState('')
  const [value, setValue] = useState('')
  const save = useSaveSecret()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim() === '' || value === '') return
    save.mutate(
      { name: name.trim(), value },
      {
        onSuccess: () => {
          showDone(t('secretSaved', { name: name.trim() }))
          setName('')
          setValue('')
        },
        onError: (error) => showFailure(error),
      },
    )
  }
  return (
    <form className={css.row} onSubmit={submit}>
      <TextInput
        aria-label={t('name')}
        placeholder={t('name')}
        autoComplete="off"
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <TextInput
        type="password"
        aria-label={t('value')}
        placeholder={t('value')}
        autoComplete="off"
        value={value}
        onChange={({ currentTarget }) => setValue(currentTarget.value)}
      />
      <Act type="submit" changes busy={save.isPending}>
        {t('addSecret')}
      </Act>
    </form>
  )
}
