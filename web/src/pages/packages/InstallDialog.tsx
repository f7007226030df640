import { Checkbox, Modal, Textarea, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import type { Found, InstallInput } from '../../data/packages.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { AgentChoice } from '../../parts/server/AgentChoice.tsx'
import { Facts } from './Facts.tsx'
import { factsOf } from './facts.ts'
import { t } from './messages.ts'
import css from './Packages.module.css'

interface Props {
  readonly found: Found
  readonly onInstall: (input: InstallInput) => void
  readonly onClose: () => void
}

/** All options of an installation, below the facts. */
export function InstallDialog({ found, onInstall, onClose }: Props) {
  const [version, setVersion] = useState(found.version ?? 'latest')
  const [bin, setBin] = useState('')
  const [args, setArgs] = useState('')
  const [env, setEnv] = useState('')
  const [allow_scripts, setScripts] = useState(false)
  const [create_server, setServer] = useState(true)
  const [agents, setAgents] = useState<readonly string[]>()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onInstall({
      name: found.name,
      allow_scripts,
      create_server,
      ...(create_server && agents && { agents: [...agents] }),
      ...(version.trim() !== '' && { version: version.trim() }),
      ...(bin.trim() !== '' && { bin: bin.trim() }),
      ...(args.trim() !== '' && { args: linesOf(args) }),
      ...(env.trim() !== '' && { env: pairsOf(env) }),
    })
    onClose()
  }
  return (
    <Modal opened onClose={onClose} title={t('optionsTitle', { name: found.name })} size={520}>
      <form className={css.form} onSubmit={submit}>
        <Facts facts={factsOf(found)} />
        <TextInput
          label={t('version')}
          description={t('versionHint')}
          size="md"
          value={version}
          onChange={({ currentTarget }) => setVersion(currentTarget.value)}
          data-autofocus
        />
        <TextInput
          label={t('bin')}
          description={t('binHint')}
          size="md"
          value={bin}
          onChange={({ currentTarget }) => setBin(currentTarget.value)}
        />
        <Textarea
          label={t('args')}
          description={t('argsHint')}
          rows={2}
          value={args}
          onChange={({ currentTarget }) => setArgs(currentTarget.value)}
        />
        <Textarea
          label={t('env')}
          description={t('envHint')}
          rows={2}
          value={env}
          autoComplete="off"
          onChange={({ currentTarget }) => setEnv(currentTarget.value)}
        />
        <Checkbox
          label={t('createServer')}
          checked={create_server}
          onChange={() => setServer(!create_server)}
        />
        {create_server && (
          <fieldset className={css.agents}>
            <legend>{t('forAgents')}</legend>
            <AgentChoice gatewayOnly chosen={agents} onChange={setAgents} />
          </fieldset>
        )}
        <Checkbox
          label={t('allowScripts')}
          description={t('allowScriptsHint')}
          checked={allow_scripts}
          onChange={() => setScripts(!allow_scripts)}
        />
        <div className="dialog-foot">
          <Act look="quiet" size="md" onClick={onClose}>
            {t('cancel')}
          </Act>
          <Act look="main" size="md" type="submit" changes>
            {t('install')}
          </Act>
        </div>
      </form>
    </Modal>
  )
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)

const pairsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    linesOf(text).map((line) => {
      const at = line.indexOf('=')
      return at === -1 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1)]
    }),
  )
