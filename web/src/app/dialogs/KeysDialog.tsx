import { Modal, Switch } from '@mantine/core'
import { useState } from 'react'
import { lettersAreOff, switchLetters, useKeyGroups } from '../../keyboard/keys.ts'
import { Keys } from '../../parts/marks/Keys.tsx'
import { t } from '../messages.ts'
import css from './KeysDialog.module.css'

interface Props {
  readonly isOpen: boolean
  readonly onClose: () => void
}

/** What the keys do on this page, and the switch that turns single letters off. */
export function KeysDialog({ isOpen, onClose }: Props) {
  return (
    <Modal opened={isOpen} onClose={onClose} title={t('keys')} size={560}>
      {isOpen && <KeyList />}
    </Modal>
  )
}

function KeyList() {
  const groups = useKeyGroups()
  const [isOff, setOff] = useState(lettersAreOff)
  return (
    <div className={css.list}>
      {groups.toReversed().map(({ title, keys }) => (
        <section key={title} aria-label={title}>
          <h3 className={css.title}>{title}</h3>
          <dl className={css.keys}>
            {Object.entries(keys).map(([key, { does }]) => (
              <div key={key} className={css.key}>
                <dt>{does}</dt>
                <dd>
                  <Keys of={key} />
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <Switch
        label={t('lettersOff')}
        description={t('lettersWhy')}
        checked={isOff}
        onChange={({ currentTarget }) => {
          switchLetters(currentTarget.checked)
          setOff(currentTarget.checked)
        }}
      />
    </div>
  )
}
