import { Checkbox, PasswordInput, Radio, Select, Switch, Tabs, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { Act, IconAct } from '../../parts/controls/Act.tsx'
import { ConfirmDialog } from '../../parts/controls/ConfirmDialog.tsx'
import { CopyAs } from '../../parts/controls/CopyAs.tsx'
import { NotifyMe } from '../../parts/controls/NotifyMe.tsx'
import { Seg } from '../../parts/controls/Seg.tsx'
import { showDone, showFailure, showUndo } from '../../parts/controls/toasts.tsx'
import { Icon } from '../../parts/marks/icons.tsx'
import { t } from './messages.ts'
import { Part } from './Part.tsx'
import css from './Parts.module.css'

const RANGES = ['5 m', '1 h', '24 h', '7 d'].map((value) => ({ value, label: value }))

export function ControlParts() {
  const [range, setRange] = useState('1 h')
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Part title={t('buttons')}>
        <div className={css.wrap}>
          <Act look="main">Write to 1 file</Act>
          <Act>Show diff</Act>
          <Act look="quiet">Discard</Act>
          <Act look="danger">Remove</Act>
        </div>
        <div className={css.wrap}>
          <Act icon="restart" changes>
            Restart
          </Act>
          <Act blocked="It has no tools">Disabled, with a reason</Act>
          <Act busy>Busy</Act>
          <Act size="xs">Small</Act>
          <Act size="md" look="main">
            Large
          </Act>
          <IconAct icon="restart" label="Restart" />
          <IconAct icon="stop" label="Stop" blocked="It is not running" />
          <NotifyMe />
          <CopyAs route="servers" server="github" tool="create_issue" args="{}" />
          <NotifyMe />
        </div>
      </Part>
      <Part title={t('inputs')}>
        <TextInput label="Name" placeholder="Empty input" data-filter />
        <TextInput
          label="Port"
          defaultValue="eighty"
          error="Not a number"
          leftSection={<Icon name="search" />}
        />
        <PasswordInput label="Token" defaultValue="secret" />
        <Select label="Level" data={['info and up', 'warn and up', 'error']} defaultValue="info and up" />
        <Textarea label="Body" description="Sent as it is" rows={2} />
        <TextInput label="Disabled" disabled defaultValue="Set by AUTH_TOKEN" />
      </Part>
      <Part title={t('choices')}>
        <div className={css.wrap}>
          <Checkbox label="On" defaultChecked />
          <Checkbox label="Some" indeterminate />
          <Checkbox label="Off" />
          <Radio label="This" name="r" defaultChecked />
          <Radio label="That" name="r" />
          <Switch label="Switch" defaultChecked />
          <Switch label="Switch" />
        </div>
        <Seg label="Range" value={range} options={RANGES} onChange={setRange} />
        <Tabs defaultValue="overview">
          <Tabs.List>
            <Tabs.Tab value="overview">Overview</Tabs.Tab>
            <Tabs.Tab value="tools">Tools</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="overview">Overview</Tabs.Panel>
          <Tabs.Panel value="tools">Tools</Tabs.Panel>
        </Tabs>
      </Part>
      <Part title={t('toasts')}>
        <div className={css.wrap}>
          <Act onClick={() => showUndo({ title: 'Removed fetch from Cursor', onUndo: () => {} })}>Undo</Act>
          <Act onClick={() => showDone('Restarted github')}>Done</Act>
          <Act onClick={() => showFailure(new Error('connect ECONNREFUSED 127.0.0.1:5432'))}>Failure</Act>
        </div>
      </Part>
      <Part title={t('dialogs')}>
        <div>
          <Act onClick={() => setOpen(true)}>Clear…</Act>
        </div>
        {isOpen && (
          <ConfirmDialog
            title="Clear 18 204 lines of all servers?"
            action="Clear"
            word="clear"
            onConfirm={() => setOpen(false)}
            onClose={() => setOpen(false)}
          >
            They cannot be brought back.
          </ConfirmDialog>
        )}
      </Part>
    </>
  )
}
