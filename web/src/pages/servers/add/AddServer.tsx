import { Checkbox, Modal, Textarea } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { useFoundAgents } from '../../../data/agents.ts'
import { type Added, useAddServer, useUnderstood } from '../../../data/server/add-server.ts'
import { needsFile } from '../../../data/server/enable-in.ts'
import { Act } from '../../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../../parts/controls/toasts.tsx'
import { namesImage } from '../../../parts/isolation/isolation.ts'
import { EnableDialog } from '../../../parts/server/EnableDialog.tsx'
import { OutgoingList } from '../../../parts/server/OutgoingList.tsx'
import { ErrorState } from '../../../parts/states/ErrorState.tsx'
import { FormError, fieldProblems } from '../../../parts/states/FormError.tsx'
import { askToLeave } from '../../../url/leaving.ts'
import css from './Add.module.css'
import { t } from './messages.ts'
import { type Choices, NO_CHOICES, Options } from './Options.tsx'
import { Placeholders, placeholdersOf } from './Placeholders.tsx'
import { snippetOf } from './snippet.ts'
import { Understood } from './Understood.tsx'

/** One box that understands anything; then what it means, what was checked, and one button. */
export function AddServer({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('')
  const [choices, setChoices] = useState<Choices>(NO_CHOICES)
  const [added, setAdded] = useState<readonly Added[]>()
  const [snippet] = useDebouncedValue(snippetOf(text), 400)
  const [name] = useDebouncedValue(choices.name.trim(), 400)
  const { data, error } = useUnderstood(snippet, name || undefined)
  const add = useAddServer()
  const finish = useFinish(onClose)
  const items = snippet === '' || error ? [] : (data?.items ?? [])
  const [only] = items.length === 1 ? items : []
  const isReady =
    items.length > 0 && items.every(({ outcome }) => outcome === 'created') && snippet === snippetOf(text)
  const { data: found = [] } = useFoundAgents()
  const inFiles = found.flatMap((agent) =>
    needsFile(agent) && choices.agents?.includes(agent.agent_type) ? [agent.agent_type] : [],
  )
  const outgoing = items.flatMap((item) => item.outgoing)
  const secrets = items.flatMap(({ plain_secrets }) => plain_secrets)
  const open = placeholdersOf(items)
  const filled = (placeholder: string) => (choices.values[placeholder] ?? '') !== ''
  const mayMove = secrets.length > 0 || open.some(({ text: of }) => filled(of))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isReady) return
    const { start_mode, move_secrets, cwd, variables, confinement, agents } = choices
    const values = Object.fromEntries(
      open.flatMap(({ text: of }) => (filled(of) ? [[of, choices.values[of] ?? '']] : [])),
    )
    const env = Object.fromEntries(
      variables.filter((each) => each.name !== '').map((each) => [each.name.trim(), each.value]),
    )
    add.mutate(
      {
        snippet,
        name: name || undefined,
        start_mode,
        move_secrets: move_secrets && mayMove,
        env,
        cwd,
        values,
        confinement: only?.type === 'stdio' ? confinement : undefined,
        agents,
        outgoing,
      },
      { onSuccess: (all) => (inFiles.length > 0 ? setAdded(all) : finish(all)) },
    )
  }
  if (added) return <EnableDialog servers={added} chosen={inFiles} onClose={() => finish(added)} />
  const close = () => (text.trim() === '' ? onClose() : askToLeave(onClose))
  const blocked = text.trim() === '' ? t('nothing') : isReady ? undefined : t('notUnderstood')
  return (
    <Modal opened onClose={close} title={t('title')} size={660}>
      <form className={css.form} onSubmit={submit}>
        <Textarea
          className={css.box ?? ''}
          label={t('what')}
          description={t('accepts')}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          placeholder={t('placeholder')}
          autosize
          minRows={2}
          maxRows={10}
          spellCheck={false}
          autoComplete="off"
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
          data-autofocus
        />
        {error && snippet !== '' && <ErrorState error={error} />}
        {items.length > 0 && <Understood items={items} />}
        {outgoing.length > 0 && (
          <div>
            <p className="warn sm">{t('outgoing')}</p>
            <OutgoingList outgoing={outgoing} />
          </div>
        )}
        {open.length > 0 && (
          <Placeholders
            placeholders={open}
            values={choices.values}
            onChange={(values) => setChoices({ ...choices, values })}
          />
        )}
        {mayMove && (
          <div>
            {secrets.length > 0 && <p className="warn sm">{t('secret', { where: secrets.join(', ') })}</p>}
            <Checkbox
              label={t('move')}
              checked={choices.move_secrets}
              onChange={({ currentTarget }) =>
                setChoices({ ...choices, move_secrets: currentTarget.checked })
              }
            />
          </div>
        )}
        {items.length > 0 && (
          <Options
            choices={choices}
            problems={fieldProblems(add.error)}
            onChange={(change) => setChoices({ ...choices, ...change })}
            single={
              only && {
                name: only.name,
                isLocal: only.type === 'stdio',
                env: only.env,
                namesImage: namesImage(only.command, only.args),
                container: only.container,
              }
            }
          />
        )}
        {only && (
          <p className={`${css.run} sm`}>
            <span className="muted">{only.url ? t('willReach') : t('willRun')}</span>
            <span className="mono">{only.url ?? [only.command, ...only.args].join(' ')}</span>
          </p>
        )}
        <FormError error={add.error} />
        <div className="dialog-foot">
          <Act look="quiet" size="md" onClick={close}>
            {t('cancel')}
          </Act>
          <Act look="main" size="md" type="submit" changes busy={add.isPending} blocked={blocked}>
            {only?.type === 'http' ? t('addRemote') : t('add')}
          </Act>
        </div>
      </form>
    </Modal>
  )
}

/** Says how it went. A server that does not work yet is shown with its reason. */
function useFinish(onClose: () => void): (added: readonly Added[]) => void {
  const [, navigate] = useLocation()
  return (added) => {
    onClose()
    for (const { name, tool_count, problem } of added) {
      if (problem !== null) showFailure(new Error(problem), t('fails', { name }))
      else showDone(tool_count === null ? t('added', { name }) : t('works', { name, count: tool_count }))
    }
    const failing = added.find(({ problem }) => problem !== null)
    if (failing) navigate(`/servers/${failing.id}`)
  }
}
