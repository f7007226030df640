import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { markFolder } from '../../src/kernel/files/durable-file.ts'
import { LogDatabase } from '../../src/store/logs/log-database.ts'

/** A data folder with a large log, as after long use. */
export function longLife(home: string, lines: number): void {
  const data = join(home, '.local/share/toolroom')
  mkdirSync(data, { recursive: true, mode: 0o700 })
  markFolder(data)
  const log = new LogDatabase({
    path: join(data, 'logs.db'),
    maxBytes: 1024 * 1_048_576,
    onDamaged: () => {},
  })
  for (let n = 0; n < lines; n += 1000) {
    log.append(
      Array.from({ length: 1000 }, (_, k) => ({
        ts: Date.UTC(2026, 0, 1) + (n + k) * 100,
        level: (n + k) % 50 === 0 ? 'error' : 'info',
        source: 'server',
        stream: 'stderr',
        server_id: `s${k % 20}`,
        agent_type: null,
        tool: null,
        request_id: null,
        message: `line ${n + k} of a long life: request handled, ${'x'.repeat(k % 200)}`,
        data: null,
        repeat: 1,
        truncated: false,
      })),
    )
  }
  log.close()
}
