import { texts } from '../../i18n/texts.ts'

export const t = texts('isolation', {
  isolation: 'Isolation',
  none: 'None',
  noneText: 'It has all your rights: it can read and change your files, and use the network.',
  sandbox: 'Sandbox',
  sandboxText:
    'It sees a read-only system, an empty home folder and no network. Protects your files and keys.',
  container: 'Container',
  containerText:
    'It runs in an image, with Docker or Podman. Protects the same, and limits memory and processes.',
  ofPackage: 'A server that runs an installed package cannot use an image. Choose the sandbox.',
  write: 'May change',
  writeText: 'Files and folders that exist, one per line. ~/ is your home.',
  read: 'May read',
  notPath: '{path} is not a path. Begin with / or ~/',
  network: 'Network',
  networkNone: 'None',
  networkFull: 'Full',
  image: 'Image',
  ownImage: 'the one that the command names',
  memory: 'Memory, MiB',
  pids: 'Processes',
  inImage: 'Container {image}',
  writes: 'writes {paths}',
  reads: 'reads {paths}',
  more: '{paths} and {count} more',
  hasNetwork: 'network',
  noNetwork: 'no network',
})
