import { Checkbox } from '@mantine/core'
import { DiffView } from '../../parts/content/DiffView.tsx'
import { JsonTree } from '../../parts/content/JsonTree.tsx'
import { Cell, Head, Row, Table } from '../../parts/content/Table.tsx'
import { Time } from '../../parts/marks/Time.tsx'
import { t } from './messages.ts'
import { Part } from './Part.tsx'

const DIFF = `--- a/mcp.json
+++ b/mcp.json
@@ -1,5 +1,5 @@
 {
   "mcpServers": {
-    "fetch": { "command": "uvx" },
+    "github": { "env": { "GITHUB_TOKEN": "***" } },
     "sentry": { "url": "https://mcp.sentry.dev/mcp" }
`
const JSON_VALUE = {
  number: 1482,
  title: 'Login fails',
  open: true,
  none: null,
  labels: [{ name: 'bug', color: 'd73a4a', more: { deep: [1, 2] } }],
  empty: {},
}

export function ContentParts() {
  return (
    <>
      <Part title={t('diff')}>
        <DiffView path="~/.cursor/mcp.json" diff={DIFF} />
      </Part>
      <Part title={t('json')}>
        <JsonTree value={JSON_VALUE} />
      </Part>
      <Part title={t('table')}>
        <Table label={t('table')}>
          <thead>
            <tr>
              <Head width={40} label="Selected" />
              <Head sort={{ state: 'asc', onSort: () => {} }}>Name</Head>
              <Head number>p95</Head>
              <Head number>Seen</Head>
            </tr>
          </thead>
          <tbody>
            <Row>
              <Cell>
                <Checkbox aria-label="github" />
              </Cell>
              <Cell>github</Cell>
              <Cell number>412 ms</Cell>
              <Cell number>
                <Time at="2026-11-16T08:00:00Z" />
              </Cell>
            </Row>
            <Row selected>
              <Cell>
                <Checkbox aria-label="fetch" defaultChecked />
              </Cell>
              <Cell>fetch</Cell>
              <Cell number />
              <Cell number />
            </Row>
          </tbody>
        </Table>
      </Part>
    </>
  )
}
