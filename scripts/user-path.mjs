import { delimiter, dirname, join } from 'node:path'

/**
 * PATH as it was before npm put its folders in front of it: `node_modules/.bin` of the checkout and of each folder above,
 * and its own `node-gyp-bin`. Tool servers must find the user's programs, not those of Toolroom's dependencies.
 */
export function userPath(path, checkout, separator = delimiter) {
  const added = new Set()
  for (let folder = checkout; ; folder = dirname(folder)) {
    added.add(join(folder, 'node_modules', '.bin'))
    if (folder === dirname(folder)) break
  }
  const folders = path.split(separator)
  while (folders[0] !== undefined && (added.delete(folders[0]) || /[\\/]node-gyp-bin$/.test(folders[0])))
    folders.shift()
  return folders.join(separator)
}
