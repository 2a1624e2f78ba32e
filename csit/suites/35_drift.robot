*** Settings ***
Documentation       Somebody changes a switch behind the controller's back, while it is connected: what is ours is put right within seconds, said, and counted; what is
...                 not ours is reported and stays.
Resource            ../resources/coeus.resource
Library             ../libraries/Drift.py
Suite Setup         Start Two Nodes With Pods
Suite Teardown      Stop Lab

*** Variables ***
${SOON}             ${20}

*** Test Cases ***
Nothing Is Found Where Nothing Was Changed
    Sleep    12 s
    FOR    ${node}    IN    1    2
        ${mended}    ${subjects}=    Mended    ${node}
        Should Be Equal As Integers    ${mended}    0    ${subjects}
    END

A Flow That Was Deleted Comes Back
    Change Switch    1    del-flows    table=51
    Should Be Right Again    1    ${SOON}
    Ping Should Pass    blue:p1    10.11.1.11
    Should Have Been Mended    1    table=51

A Flow That Was Changed Is As It Was
    Change Switch    1    mod-flows    table=220,actions=drop
    Should Be Right Again    1    ${SOON}
    Ping Should Pass    blue:p1    10.11.2.10

All Flows And Groups Come Back
    Change Switch    1    del-flows
    Change Switch    1    del-groups
    Change Switch    1    del-meters
    Should Be Right Again    1    ${SOON}
    All Pods Should Reach All    blue

A Group That Was Changed Is As It Was
    ${id}=    First Group    1
    Change Switch    1    mod-group    group_id=${id},type=all,bucket=actions=drop
    Should Be Right Again    1    ${SOON}

A Flow In Our Name Goes
    Change Switch    1    add-flow    table=60,priority=9,cookie=0xc000000000000001,actions=drop
    Should Be Right Again    1    ${SOON}

Flows Of Others Stay And Are Reported
    Change Switch    2    add-flow    table=100,priority=7,cookie=0x1,actions=drop
    Wait Until Keyword Succeeds    ${SOON}    300 ms    Foreign Flows Should Be    2    1
    Sleep    11 s
    ${tables}=    Tables Of    2
    Should Be True    any("cookie=0x1, table=100" in line for line in $tables)    ${tables}
    Change Switch    2    del-flows    cookie=0x1/-1
    Wait Until Keyword Succeeds    ${SOON}    300 ms    Foreign Flows Should Be    2    0
    ${mended}    ${subjects}=    Mended    2
    Should Be Equal As Integers    ${mended}    0    ${subjects}

What Was Found Is Told
    ${mended}    ${subjects}=    Mended    1
    ${page}=    GET On Session    coeus    /metrics    expected_status=200
    ${dpid}=    Dpid Of    1
    Should Match Regexp    ${page.text}    coeus_switch_drift_mended_total\\{dpid="[0-9a-f:]*${dpid[-4:]}"\\} ${mended}

A Bridge That Fails Open Is Secured
    Configure Switch    1    set-fail-mode    br-int    standalone
    Wait Until Keyword Succeeds    ${SOON}    300 ms    Switch Setting Should Be    1    fail_mode    secure
    Should Be Right Again    1    ${SOON}

A Controller That Was Taken Away Is Set Again
    Configure Switch    1    del-controller    br-int
    Should Be Right Again    1    ${60}
    Wait Until Keyword Succeeds    60 s    500 ms    Switch Leaf Should Be    1    connected    ${True}

A Port That Has Another Number Is Followed
    ${port}    ${number}=    Pod Port    blue:p1
    Configure Switch    1    set    interface    ${port}    ofport_request=77
    Wait Until Keyword Succeeds    ${SOON}    300 ms    Number Of Port Should Be    blue:p1    77
    Ping Should Pass    blue:p1    10.11.2.10    30
    Ping Should Pass    blue:p3    10.11.1.10
    ${mended}    ${before}=    Mended    1
    Remember Tables    1

A Bridge That Was Made Anew Is Filled Again
    ${ports}=    Ports Of    1    br-int
    Configure Switch    1    del-br    br-int
    Wait Until Keyword Succeeds    60 s    500 ms    Bridge Should Be There    1
    Plug Again    1
    Ping Should Pass    blue:p1    10.11.2.10    60
    All Pods Should Reach All    blue
    Tables Should Be As From Scratch

*** Keywords ***
Start Two Nodes With Pods
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Create And Plug Pod    p2    blue    1    10.11.1.11    10.11.1.1
    Create And Plug Pod    p3    blue    2    10.11.2.10    10.11.2.1
    All Pods Should Reach All    blue
    Wait For Switches
    Remember Tables    1
    Remember Tables    2

Should Have Been Mended
    [Arguments]    ${node}    ${what}
    ${mended}    ${subjects}=    Mended    ${node}
    Should Be True    ${mended} > 0
    Should Contain    ${subjects}[0]    ${what}

Foreign Flows Should Be
    [Arguments]    ${node}    ${number}
    ${found}=    Switch Leaf    ${node}    foreign-flows
    Should Be Equal As Integers    ${found}    ${number}

Switch Setting Should Be
    [Arguments]    ${node}    ${column}    ${value}
    ${found}=    Configure Switch    ${node}    get    bridge    br-int    ${column}
    Should Be Equal    ${found.strip()}    ${value}

Switch Leaf Should Be
    [Arguments]    ${node}    ${leaf}    ${value}
    ${found}=    Switch Leaf    ${node}    ${leaf}
    Should Be Equal    ${found}    ${value}

Number Of Port Should Be
    [Arguments]    ${pod}    ${number}
    ${port}    ${found}=    Pod Port    ${pod}
    Should Be Equal As Integers    ${found}    ${number}

Bridge Should Be There
    [Arguments]    ${node}
    ${found}=    Configure Switch    ${node}    list-br
    Should Contain    ${found}    br-int

First Group
    [Arguments]    ${node}
    ${tables}=    Tables Of    ${node}
    ${id}=    Evaluate    next(line.split(",")[0].split("=")[1] for line in $tables if line.startswith("group_id=2"))
    RETURN    ${id}
