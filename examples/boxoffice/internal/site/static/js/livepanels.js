// The live streams and the chat on the operator's page. A figure that the office does
// not tell is shown as not known, and a panel of which it tells nothing is not shown.

import { $, setText, show } from './dom.js';
import { facts } from './facts.js';
import { number, t } from './i18n.js';
import { Sparkline } from './sparkline.js';

const SAMPLES = 120;

const figure = (n) => (typeof n === 'number' ? number(n) : '–');

function state(element, on, yes, no) {
  const known = typeof on === 'boolean';
  setText(element, known ? (on ? yes : no) : '–');
  element.dataset.state = known ? (on ? 'running' : 'stopped') : '';
}

// warm makes a figure stand out that should be zero.
function warm(element, n) {
  setText(element, figure(n));
  element.classList.toggle('warm', n > 0);
}

export class StreamsPanel {
  #spark = new Sparkline($('#streams-spark'), SAMPLES, (now) => t('ops.streams.spark.now', now));

  update(streams) {
    show($('#streams'), Boolean(streams));
    if (!streams) return;
    setText($('#streams-open'), figure(streams.open));
    if (typeof streams.open === 'number') this.#spark.add(streams.open);
    state($('#streams-leased'), streams.leased, t('ops.streams.leased.yes'), t('ops.streams.leased.no'));
    state($('#streams-hearing'), streams.hearing, t('ops.streams.hearing.yes'), t('ops.streams.hearing.no'));
    facts($('#streams-facts'), {
      [t('ops.streams.members')]: streams.members,
      [t('ops.streams.rooms')]: streams.rooms,
      [t('ops.streams.opened')]: streams.opened,
      [t('ops.streams.sent')]: streams.sent,
      [t('ops.streams.evicted')]: streams.evicted,
      [t('ops.streams.away')]: streams.away,
      [t('ops.streams.slow')]: streams.slow,
      [t('ops.streams.outage')]: streams.outage,
      [t('ops.streams.refused')]: streams.refused,
      [t('ops.streams.dropped')]: streams.dropped,
    });
  }
}

export class ChatPanel {
  #spark = new Sparkline($('#talk-spark'), SAMPLES, (now) => t('ops.chat.spark.now', now));

  update(chat) {
    show($('#talk'), Boolean(chat));
    if (!chat) return;
    setText($('#talk-sockets'), figure(chat.sockets));
    if (typeof chat.sockets === 'number') this.#spark.add(chat.sockets);
    warm($('#talk-dead'), chat.deadLettered);
    setText($('#talk-backlog'), figure(chat.backlog));
    facts($('#talk-facts'), {
      [t('ops.streams.rooms')]: chat.rooms,
      [t('ops.chat.sent')]: chat.sent,
      [t('ops.chat.stored')]: chat.stored,
      [t('ops.chat.told')]: chat.toldLive,
      [t('ops.chat.failed')]: chat.failed,
      [t('ops.streams.dropped')]: chat.dropped,
    });
  }
}
