import { join } from 'node:path'
import type { Run } from '../run/context.ts'

/** `toolroom config path` */
export const showPaths: Run = async ({ config }) => {
  const { data, config: keys } = config.folders
  const paths = { config_file: join(data, 'config.json'), data_folder: data, secret_key_folder: keys }
  return {
    json: paths,
    table: {
      rows: [
        ['Settings', paths.config_file],
        ['Data', data],
        ['Secret key', keys],
      ],
    },
  }
}
