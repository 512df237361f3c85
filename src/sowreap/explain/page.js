function (root, data) {
  "use strict";
  const find = (name) => root.querySelector("." + name);
  const stage = find("srx-stage");
  if (!stage) return;
  const cells = [...root.querySelectorAll("[data-c]")];
  cells.forEach((cell) => {
    cell.title = cell.ariaLabel;
    cell.tabIndex = cell.closest("table").querySelector("[data-c]") === cell ? 0 : -1;
  });
  const finals = cells.map((cell) => cell.querySelector(".srx-v").textContent);
  const [all, previous, next] = ["srx-all", "srx-previous", "srx-next"].map(find);
  const [slider, count, detail, live, arrows] =
    ["srx-slider", "srx-count", "srx-detail", "srx-live-region", "srx-arrows"].map(find);
  const total = data.steps.length;
  const isPage = root.hasAttribute("data-page");
  let now = null; // number of the step shown, null for the overview
  let pinned = null; // a cell that stays lit
  let shown = { pairs: [], steps: [] };

  const pairsOf = cells.map(() => []);
  data.pairs.forEach((pair, p) => {
    for (const c of new Set([pair.data, pair.moved, ...data.steps[pair.step].cells])) {
      if (c >= 0) pairsOf[c].push(p);
    }
  });
  const pairsOfStep = data.steps.map(() => []);
  data.pairs.forEach((pair, p) => pairsOfStep[pair.step].push(p));
  const stepsOfIndex = cells.map(() => []);
  data.steps.forEach((step, s) => step.cells.forEach((c) => stepsOfIndex[c].push(s)));

  /* ---- what is lit, and what is said about it ---- */

  function light(pairs, steps, current) {
    const on = new Set(current);
    steps.forEach((s) => data.steps[s].cells.forEach((c) => on.add(c)));
    pairs.forEach((p) => [data.pairs[p].data, data.pairs[p].moved].forEach((c) => on.add(c)));
    on.delete(-1); // a place that is not shown
    cells.forEach((cell, c) => {
      cell.classList.toggle("srx-on", on.has(c));
      cell.classList.toggle("srx-now", current.includes(c) && current.length === 1);
    });
    root.toggleAttribute("data-lit", on.size > 0);
    shown = { pairs, steps };
    draw();
  }

  function tell(what, groups) {
    find("srx-what").textContent = what;
    const list = find("srx-lines");
    list.textContent = "";
    groups.slice(0, 4).forEach((lines) => {
      const item = list.appendChild(document.createElement("li"));
      lines.forEach((line) => {
        item.appendChild(document.createElement("div")).textContent = line;
      });
    });
    if (groups.length > 4) {
      list.appendChild(document.createElement("li")).textContent = `and ${groups.length - 4} more`;
    }
  }

  function showCell(c) {
    let pairs = pairsOf[c];
    const twin = data.twins[c];
    if (twin >= 0 && !pairs.length) pairs = pairsOf[twin];
    const steps = [...new Set([...pairs.map((p) => data.pairs[p].step), ...stepsOfIndex[c]])];
    light(pairs, steps, twin >= 0 ? [c, twin] : [c]);
    cells[c].classList.add("srx-now");
    const groups = pairs.map((p) => data.pairs[p].lines);
    stepsOfIndex[c].forEach((s) => groups.unshift([data.steps[s].line]));
    if (!groups.length) groups.push([data.idle[c]]);
    tell(cells[c].getAttribute("aria-label"), groups);
  }

  function say(text) {
    live.textContent = text;
  }

  /* ---- steps ---- */

  function setValues() {
    if (data.running) {
      const texts = data.outputs.map((c) => (now === null ? finals[c] : data.gather ? "·" : finals[data.twins[c]]));
      if (now !== null) {
        for (let s = 0; s < now; s++) {
          for (const p of pairsOfStep[s]) {
            const pair = data.pairs[p];
            const c = data.gather ? pair.moved : pair.data;
            const place = data.outputs.indexOf(c);
            if (place >= 0) texts[place] = data.gather ? finals[c] : pair.after;
          }
        }
      }
      data.outputs.forEach((c, place) => {
        cells[c].querySelector(".srx-v").textContent = texts[place];
      });
    }
  }

  function show(step, speak) {
    now = step;
    pinned = null;
    setValues();
    all.setAttribute("aria-pressed", String(step === null));
    slider.value = step === null ? total : step;
    previous.disabled = step === 0;
    next.disabled = step === total || !total;
    if (step === null) {
      light([], [], []);
      shown = { pairs: data.featured.flatMap((s) => pairsOfStep[s]), steps: data.featured };
      draw();
      count.textContent = `${total} ${total === 1 ? "step" : "steps"}`;
      tell(data.hint, data.overview);
    } else if (step === 0) {
      light([], [], []);
      count.textContent = `start of ${total}`;
      tell(data.start, []);
    } else {
      const s = step - 1;
      light(pairsOfStep[s], [s], []);
      count.textContent = `step ${step} of ${total}`;
      tell(data.steps[s].line, pairsOfStep[s].map((p) => data.pairs[p].lines));
    }
    slider.setAttribute("aria-valuetext", `${count.textContent}. ${find("srx-what").textContent}`);
    if (speak) {
      const lines = step ? pairsOfStep[step - 1].slice(0, 1).flatMap((p) => data.pairs[p].lines.slice(-1)) : [];
      say([count.textContent, find("srx-what").textContent, ...lines].join(". "));
    }
  }

  function move(by) {
    const from = now === null ? (by > 0 ? 0 : total + 1) : now;
    show(Math.min(total, Math.max(0, from + by)), true);
  }

  function restore() {
    if (pinned !== null) showCell(pinned);
    else show(now, false);
  }

  /* ---- arrows ---- */

  function box(list, base) {
    const edges = (found) => {
      const boxes = found.map((cell) => cell.getBoundingClientRect());
      return {
        left: Math.min(...boxes.map((b) => b.left)) - base.left,
        right: Math.max(...boxes.map((b) => b.right)) - base.left,
        top: Math.min(...boxes.map((b) => b.top)) - base.top,
        bottom: Math.max(...boxes.map((b) => b.bottom)) - base.top,
      };
    };
    const own = edges(list.map((c) => cells[c]));
    const panel = edges([...cells[list[0]].closest(".srx-panel").querySelectorAll("[data-c]")]);
    const middle = { x: (own.left + own.right) / 2, y: (own.top + own.bottom) / 2 };
    return { ...own, ...middle, panelLeft: panel.left, panelRight: panel.right };
  }

  /* Below each other: out to the right and back, past the values. */
  function around(a, b) {
    const edge = Math.min(Math.max(a.panelRight, b.panelRight) + 44, stage.clientWidth + 8);
    const out = (c) => (c.right < c.panelRight - 2 ? c.bottom + 2 : c.y);
    const start = a.right < a.panelRight - 2 ? `M${a.right - 7} ${a.bottom}q0 2 3 2H${a.panelRight}` : `M${a.right + 1} ${a.y}`;
    const end = b.right < b.panelRight - 2 ? `H${b.right - 4}q-5 0 -5 -5` : "";
    return `${start}C${edge} ${out(a)} ${edge} ${out(b)} ${b.right < b.panelRight - 2 ? b.panelRight : b.right + 4} ${out(b)}${end}`;
  }

  /* Between columns: below the panels, `aside` of the middle of an index. */
  function under(a, b, aside) {
    const [x1, x2] = aside > 0 ? [a.x + aside, b.x] : [a.x, b.x + aside];
    const [y1, y2] = [a.bottom + 1, b.bottom + 4];
    const low = Math.max(y1, y2) + 34;
    return `M${x1} ${y1}C${x1} ${low} ${x2} ${low} ${x2} ${y2}`;
  }

  function path(a, b) {
    if (b.panelLeft < a.panelRight - 1) return around(a, b);
    let d, x1 = a.right + 1, y1 = a.y, x2 = b.left - 5, y2 = b.y, tail = "";
    if (a.right < a.panelRight - 2) {
      d = `M${a.right - 7} ${a.bottom}q0 2 3 2H${a.panelRight}`;
      [x1, y1] = [a.panelRight, a.bottom + 2];
    } else d = `M${x1} ${y1}`;
    if (b.left > b.panelLeft + 2) {
      [x2, y2] = [b.panelLeft - 4, b.bottom + 2];
      tail = `H${b.left + 4}q5 0 5 -5`;
    } else x2 = b.panelLeft - 22;
    const bend = Math.max(18, 0.42 * (x2 - x1));
    return `${d}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}${tail}`;
  }

  function draw() {
    [...arrows.querySelectorAll("path.srx-arrow")].forEach((old) => old.remove());
    const base = stage.getBoundingClientRect();
    shown.steps.forEach((s) => {
      const step = data.steps[s];
      const pairs = shown.pairs.filter((p) => data.pairs[p].step === s);
      const there = pairs.map((p) => data.pairs[p].data).filter((c) => c >= 0);
      const here = pairs.map((p) => data.pairs[p].moved).filter((c) => c >= 0);
      if (!there.length || !here.length) return;
      const [from, to] = data.gather ? [there, here] : [here, there];
      const stops = data.gather && step.cells.length ? [from, step.cells, to] : [from, to];
      const boxes = stops.map((stop) => box(stop, base));
      for (let i = 0; i + 1 < boxes.length; i++) {
        const arrow = document.createElementNS("http://www.w3.org/2000/svg", "path");
        arrow.setAttribute("class", "srx-arrow");
        const beside = boxes[i + 1].panelLeft > boxes[i].panelRight - 1;
        arrow.setAttribute("d", data.columns && beside ? under(boxes[i], boxes[i + 1], i ? 5 : -5) : path(boxes[i], boxes[i + 1]));
        arrow.style.stroke = `var(--srx-line-${step.colour})`;
        arrow.setAttribute("marker-end", `url(#${root.id}-m${step.colour})`);
        arrows.appendChild(arrow);
      }
    });
  }

  /* ---- pointer and keys ---- */

  stage.addEventListener("pointerover", (event) => {
    const cell = event.target.closest("[data-c]");
    if (cell && event.pointerType !== "touch") showCell(Number(cell.dataset.c));
  });
  stage.addEventListener("pointerout", (event) => {
    const to = event.relatedTarget;
    if (event.pointerType !== "touch" && !(to instanceof Element && to.closest("[data-c]") && stage.contains(to))) restore();
  });
  stage.addEventListener("focusin", (event) => {
    const cell = event.target.closest("[data-c]");
    if (!cell) return;
    const c = Number(cell.dataset.c);
    pinned = c;
    showCell(c);
    const lines = [...root.querySelectorAll(".srx-lines li")].slice(0, 2).map((li) => [...li.children].map((d) => d.textContent).join(", "));
    say(lines.join(". "));
    cell.closest("table").querySelectorAll("[tabindex='0']").forEach((other) => { other.tabIndex = -1; });
    cell.tabIndex = 0;
  });
  stage.addEventListener("focusout", (event) => {
    if (!stage.contains(event.relatedTarget)) {
      pinned = null;
      restore();
    }
  });
  stage.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-c]");
    if (cell) cell.focus({ preventScroll: true });
  });

  function neighbour(cell, key) {
    const row = [...cell.parentElement.querySelectorAll("[data-c]")];
    const column = row.indexOf(cell);
    if (key === "Home") return row[0];
    if (key === "End") return row[row.length - 1];
    if (key === "ArrowLeft") return row[column - 1];
    if (key === "ArrowRight") return row[column + 1];
    const rows = [...cell.closest("table").querySelectorAll("tr")].filter((r) => r.querySelector("[data-c]"));
    const other = rows[rows.indexOf(cell.parentElement) + (key === "ArrowDown" ? 1 : -1)];
    return other && other.querySelectorAll("[data-c]")[column];
  }

  const KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];
  (isPage ? document : root).addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      if (root.contains(document.activeElement) && document.activeElement.closest("[data-c]")) document.activeElement.blur();
      show(null, true);
      return;
    }
    if (!KEYS.includes(event.key) || event.target === slider) return;
    const cell = event.target.closest && event.target.closest("[data-c]");
    if (cell) {
      const to = neighbour(cell, event.key);
      if (to) to.focus();
      event.preventDefault();
    } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      move(event.key === "ArrowRight" ? 1 : -1);
      event.preventDefault();
    }
  });
  all.addEventListener("click", () => show(null, true));
  previous.addEventListener("click", () => move(-1));
  next.addEventListener("click", () => move(1));
  slider.addEventListener("input", () => show(Number(slider.value), false));
  slider.addEventListener("change", () => show(Number(slider.value), false));

  root.classList.add("srx-live");
  show(null, false);
  new ResizeObserver(draw).observe(stage);
  stage.addEventListener("scroll", draw, true);
}
